package host_test

import "testing"

// H5: a policy that is loosened later has no effect until somebody agrees.
func TestH5Loosened(t *testing.T) {
	for name, lines := range map[string]string{
		"a tool's policy": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			call x user+host policy
			call x user ok
			asked 1
			pending x
			tools [{"name":"x","flowPolicy":{"acceptFrom":["host","user"]}}]
			asked 1                             # asked before
			approve x true
			call x user+host ok
			pending `,
		"with a hook that agrees": `
			agree
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			asked 1
			call x user+host ok`,
		"tightened at once, and then loosened again": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			asked 0
			call x user+host policy
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			asked 1
			call x user+host policy`,
		"stricter here and looser there": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","unverified"]}}]
			call x user ok
			call x user+host policy
			call x user+fetch policy
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			call x user+host policy             # what was stricter stays so
			asked 2
			approve x true
			call x user+host ok`,
		"loosened, and taken back": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			pending 
			call x user ok`,
		"asked before, but of another kind": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			tools [{"name":"x"}]
			asked 1
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			approve x true
			call x user ok
			call x user+host policy`,
		"its own, when the default is stricter here and looser there": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x"},{"name":"y","flowPolicy":{"acceptFrom":["user"]}},{"name":"z","flowPolicy":{"acceptFrom":["user","verified"]}}]
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","verified"]}}}
			call x user+host policy
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}},{"name":"y"},{"name":"z"}]
			call x user ok
			call x user+host policy
			pending default,x,y
			approve y true
			approve default true
			call y user+partner ok
			call z user+partner ok`,
		"in many ways, of which nobody has agreed to any": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:1"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:2"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:3"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:4"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:5"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:6"]}}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:7"]}}]
			call x user ok
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","urn:a:8"]}}]
			call x user policy                  # too many to remember
			approve x true
			call x user ok`,
		"left out for a while": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools []
			call x user+host policy
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			call x user+host policy
			pending x`,
		"its own taken away": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}},{"name":"y","flowPolicy":{"acceptFrom":["user","host","verified"]}}]
			tools [{"name":"x"},{"name":"y"}]
			call x user ok
			call x user+host policy
			call y user+partner policy
			pending x
			hello {"flow":{"policy":true,"default":{"acceptFrom":["host"]}}}
			call x user policy                  # what is published counts, agreed to or not
			call y user policy`,
		"its own taken away, agreed to, and the default tightened": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x"}]
			approve x true
			call x user+host ok
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			call x user+host policy`,
		"its own taken away, and the default changed before anybody agreed": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x"}]
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host","verified"]}}}
			pending default,x
			call x user+host policy
			approve default true
			call x user+host policy
			approve x true
			call x user+host+partner ok`,
		"its own taken away where there is no default": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x"}]
			call x user+host policy
			tools [{"name":"x"}]
			call x user+host policy
			pending x
			approve x true
			call x user+host ok`,
		"its own, looser than the default that governed it": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			tools [{"name":"x"}]
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user","host"]}}]
			call x user+host policy
			pending x
			hello {"flow":{"policy":true,"default":{"acceptFrom":[]}}}
			call x user policy
			approve x true
			call x user+host ok`,
		"no longer to be read": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			tools [{"name":"x","flowPolicy":{}}]
			call x user+host policy
			pending x`,
		"the default, and what it governs": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			tools [{"name":"x"},{"name":"y","flowPolicy":{"acceptFrom":["user","host"]}}]
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			call x user+host policy
			call unlisted user+host policy
			tomorrow's x user+host policy
			call y user+host ok
			tools [{"name":"x"},{"name":"y"}]
			call x user+host policy
			call y user ok
			call y user+host policy             # the default in force is the old one
			pending default
			approve default true
			call x user+host ok
			call y user+host ok`,
		"the announcement withdrawn": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			tools []
			hello {}
			call x user+host policy
			pending default
			hello {"flow":{"policy":false}}
			asked 1
			approve default true
			call x unknown ok`,
		"the announcement withdrawn, and a policy that cannot be read": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","unverified"]}}}
			tools [{"name":"x","flowPolicy":{}}]
			call x user+fetch ok
			hello {}
			call x user ok
			call x user+fetch policy            # the draft's stands in (P6)`,
		"announced, after the draft's has stood in": `
			hello {}
			tools [{"name":"x","flowPolicy":{}}]
			call x user+fetch policy
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","unverified"]}}}
			call unlisted user+fetch ok
			call x user ok
			call x user+fetch policy
			tools [{"name":"x","flowPolicy":{}}]
			call x user+fetch policy
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","unverified"]}}}
			call x user+fetch policy`,
		"announced anew": `
			hello {}
			tools []
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			call x user+host policy
			asked 0`,
		"announced in a second form": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			tools []
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}},"extensions":{"io.modelcontextprotocol/flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}
			call x user+host policy
			asked 0
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			call x user+host policy
			pending default`,
	} {
		t.Run(name, func(t *testing.T) { run(t, lines) })
	}
}
