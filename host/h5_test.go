package host_test

import "testing"

// H5: the host evaluates what the recipient has published, and does not send what that
// would refuse.
func TestH5(t *testing.T) {
	for name, lines := range map[string]string{
		"a tool's policy": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["unverified","user"]}}}
			tools [{"name":"export","flowPolicy":{"acceptFrom":["user"]}},{"name":"search"}]
			call export user ok
			call export user+fetch policy
			call search user+fetch ok
			call search user+partner policy
			call unlisted user+fetch ok
			call export unknown policy`,
		"the default, in each form": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			tools []
			call x user ok
			call x user+host policy
			tomorrow's x user ok
			tomorrow's x user+host policy
			hello {"extensions":{"io.modelcontextprotocol/flow":{"policy":true,"default":{"acceptFrom":["user"]}}}}
			call x user+host policy
			pending `,
		"two forms that differ": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}},"extensions":{"io.modelcontextprotocol/flow":{"policy":true,"default":{"acceptFrom":["user","unverified"]}}}}
			tools [{"name":"x"},{"name":"y","flowPolicy":7},{"name":"z","flowPolicy":{"acceptFrom":["host","user"]},"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["user","unverified"]}}}]
			call x user ok
			call x user+host policy
			call x user+fetch policy
			call y user ok
			call y user+host policy
			call y user+fetch policy
			call z user ok
			call z user+host policy
			call z user+fetch policy`,
		"announced without a default": `
			hello {"flow":{"policy":true}}
			tools [{"name":"x"}]
			call x user+host+records+partner ok
			call x user+news policy`,
		"nothing announced": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}},{"name":"y"}]
			call y unknown ok
			call x unknown policy`,
		"announced as reporting only": `
			hello {"flow":{"policy":false,"default":{"acceptFrom":[]}}}
			tools [{"name":"x"}]
			call x unknown ok`,
		"a null is nothing": `
			hello {"flow":null,"extensions":null}
			tools null
			call x unknown ok`,
		"an empty list accepts nothing": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":[]}}}
			tools [{"name":"x"},{"name":"y","flowPolicy":{"acceptFrom":["user"]}}]
			call x user policy
			call y user ok`,
		"announcements that cannot be read are the draft's": `
			hello {"flow":true}
			tools []
			call x user+partner ok
			call x user+fetch policy`,
		"so are those whose policy is no boolean": `
			hello {"flow":{"policy":"true","default":{"acceptFrom":["unverified","user"]}}}
			tools []
			call x user+fetch policy`,
		"and those in extensions that are none": `
			hello {"extensions":[1]}
			tools []
			call x user+fetch policy`,
		"and those whose default is none": `
			hello {"flow":{"policy":true,"default":["unverified"]}}
			tools []
			call x user+partner ok
			call x user+fetch policy`,
		"a policy that cannot be read is the default": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			tools [{"name":"a","flowPolicy":{}},{"name":"b","flowPolicy":[]},{"name":"c","_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":"user"}}},{"name":"d","flowPolicy":null}]
			call a user ok
			call a user+host policy
			call b user+host policy
			call c user+host policy
			call d user+host policy`,
		"and the draft's where there is no default": `
			hello {}
			tools [{"name":"a","flowPolicy":{}},{"name":"b"},{"name":"c","flowPolicy":5,"_meta":{"io.modelcontextprotocol/flowPolicy":{"acceptFrom":["unverified","user"]}}}]
			call a user+partner ok
			call a user+fetch policy
			call b user+fetch ok
			call c user+fetch policy
			call c user+partner policy
			call c user ok`,
		"whatever the default is by then": `
			tools [{"name":"a","flowPolicy":{}},{"name":"b"}]
			call a user unsent
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			call a user+host policy
			call b user+host policy
			hello {"flow":{"policy":true,"default":{"acceptFrom":[]}}}
			call a user policy
			call b user policy
			asked 0`,
		"tokens that mean nothing here are inert": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["*","USER","com.example.tier:gold",7,null,"user"]}}]
			call x user ok
			call x user+host policy`,
		"self": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["self","user"]}}]
			call x user+records ok
			call x user+partner policy`,
		"prompts and completions": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			prompts [{"name":"p","flowPolicy":{"acceptFrom":["user"]}}]
			resources []
			resourceTemplates []
			prompt p user ok
			prompt p user+host policy
			prompt q user+host ok
			completeP p user+host policy
			completeP q user+host ok
			complete? ref/else user+host ok
			complete? ref/else user+fetch policy`,
	} {
		t.Run(name, func(t *testing.T) { run(t, lines) })
	}
}

// H5 for resources: every declaration that some reading of the URI matches counts (R2).
func TestH5Resources(t *testing.T) {
	for name, lines := range map[string]string{
		"the strictest wins": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user","host"]}}}
			resources [{"uri":"db://customers","flowPolicy":{"acceptFrom":["user","verified"]}},{"uri":"db://plain"}]
			resourceTemplates [{"uriTemplate":"db://{table}","flowPolicy":{"acceptFrom":["user","unverified"]}}]
			read db://customers user ok
			read db://customers user+partner policy
			read db://customers user+fetch policy
			read db://customers?x=1 user+partner policy
			read DB://customers user+partner policy
			read db://%63ustomers user+partner policy
			read db://x/../customers user+fetch policy
			read db://other user+fetch ok
			read db://plain user+fetch ok       # P5: the template's replaces the default
			read db://plain user+host policy
			read else://x user+host ok
			read else://x user+fetch policy
			subscribe db://customers user+fetch policy
			listen db://other,db://customers user+fetch policy
			listen db://other user+fetch ok
			listen - unknown ok
			completeR db://{table} user+fetch ok
			completeR db://customers user+fetch policy`,
		"a pattern that cannot be read governs everything": `
			hello {}
			resources []
			resourceTemplates [{"uriTemplate":"db://{/path*}","flowPolicy":{"acceptFrom":["user"]}},{"uriTemplate":"ok://{x}","flowPolicy":{"acceptFrom":["user","host"]}}]
			read else://x user ok
			read else://x user+host policy
			read ok://x user+host policy`,
		"one without a policy does not": `
			hello {}
			resources []
			resourceTemplates [{"uriTemplate":"db://{/path*}"}]
			read else://x unknown ok`,
		"patterns that say the same": `
			hello {}
			resources [{"uri":"db://q?a=1","flowPolicy":{"acceptFrom":["user","host"]}},{"uri":"db://q?a=2","flowPolicy":{"acceptFrom":["user","unverified"]}},{"uri":"DB://q","flowPolicy":{"acceptFrom":["user","unverified","host"]}}]
			resourceTemplates [{"uriTemplate":"t://{x}","flowPolicy":{"acceptFrom":["user","host"]}},{"uriTemplate":"T://{x}","flowPolicy":{"acceptFrom":["user","verified"]}}]
			read db://q user ok
			read db://q?a=1 user+host policy
			read db://q?a=2 user+fetch policy
			read t://1 user ok
			read t://1 user+host policy
			read t://1 user+partner policy
			read else://x user+host+fetch ok`,
		"a URI that has too many readings is not sent": `
			hello {}
			resources [{"uri":"db://q","flowPolicy":{"acceptFrom":["user"]}}]
			resourceTemplates []
			read db://%2525252525252525252e/%25252525/%255c/..;a/%252e%252e;b//%252f/.%25252e;c/x;%2525 user unsent`,
		"a template that comes later loosens nothing by itself": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			resources [{"uri":"db://customers"}]
			resourceTemplates []
			read db://customers user+fetch policy
			resourceTemplates [{"uriTemplate":"db://{x}","flowPolicy":{"acceptFrom":["user","unverified"]}}]
			read db://customers user ok
			read db://customers user+fetch policy
			pending db://{x}
			approve db://{x} true
			read db://customers user+fetch ok`,
		"nor does a resource": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			resources []
			resourceTemplates []
			read db://s user ok
			resources [{"uri":"db://q?x","flowPolicy":{"acceptFrom":["user","unverified"]}},{"uri":"db://s","flowPolicy":{"acceptFrom":[]}}]
			read db://q user ok
			read db://q user+fetch policy
			read db://s user policy
			pending db://q?x`,
		"one whose policy cannot be read is the default's": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			resources [{"uri":"db://customers","flowPolicy":{}}]
			resourceTemplates [{"uriTemplate":"db://{x}","flowPolicy":{"acceptFrom":["user","unverified"]}},{"uriTemplate":"st://x{?q}","flowPolicy":{"acceptFrom":["user","host"]}}]
			read db://customers user ok
			read db://customers user+fetch policy
			read db://other user+fetch ok
			completeR st://x{?q} user+host ok     # the text of a template is no URI
			completeR st://y{?q} user+host policy`,
		"one that loses its own policy is not left to a wider template": `
			hello {"flow":{"policy":true,"default":{"acceptFrom":["user"]}}}
			resources [{"uri":"db://customers","flowPolicy":{"acceptFrom":["user","host"]}}]
			resourceTemplates [{"uriTemplate":"db://{x}","flowPolicy":{"acceptFrom":["user","unverified"]}}]
			read db://customers user+fetch policy
			resources [{"uri":"db://customers"}]
			read db://customers user ok
			read db://customers user+fetch policy
			pending `,
	} {
		t.Run(name, func(t *testing.T) { run(t, lines) })
	}
}

// H5: what was not read, or cannot be, is no reason to send.
func TestH5Unread(t *testing.T) {
	for name, lines := range map[string]string{
		"before the server has said anything": `
			tools []
			call x user unsent
			tomorrow's x user unsent
			hello {}
			tomorrow's x user ok
			call x user ok`,
		"lists that were never read": `
			hello {}
			call x user unsent
			prompt x user unsent
			read x://y user unsent
			completeP x user unsent
			completeR x://y user unsent
			listen x://y user unsent
			listen - user ok
			complete? ref/else user ok
			resources []
			read x://y user unsent              # templates match URIs too
			resourceTemplates []
			read x://y user ok
			completeR x://y user ok
			prompts []
			completeP x user ok
			call x user unsent
			tools []
			call x user ok`,
		"a kind of which there is no list": `
			hello {}
			fresh tools
			call x user ok`,
		"pages": `
			hello {}
			first tools [{"name":"a"}]
			call a user unsent
			next tools [{"name":"b","flowPolicy":{"acceptFrom":["user"]}}]
			call b user unsent
			end tools []
			call b user ok
			call b user+host policy`,
		"pages without the first": `
			hello {}
			next tools []
			end tools []
			call a user unsent`,
		"a page that cannot be read": `
			hello {}
			tools []
			tools! {"name":"x"}
			call x user unsent
			prompts []
			prompt x user ok
			fresh tools
			call x user unsent                  # the adapter cannot know better
			first tools []
			call x user unsent
			end tools []
			call x user ok`,
		"a last page that cannot be read": `
			hello {}
			first tools []
			tools! 7
			end tools []
			call x user unsent
			tools []
			call x user ok`,
		"a hello that cannot be read": `
			hello {}
			tools []
			hello! [1]
			call x user unsent
			hello! {"capabilities":{},"capabilities":{}}
			hello! {"a":
			hello! null
			hello! 7
			tomorrow's x user unsent
			hello {}
			call x user ok`,
		"names that cannot be read two ways": `
			hello {}
			tools! [{"name":"a","name":"b"}]
			tools! [{"name":"a","Name":"b"}]
			tools! [{"Name":"b"}]
			tools! [],"Tools":[{"name":"b"}]
			tools! [],"nextcursor":"x"
			call a user unsent
			tools [{"name":"a","description":"Name"}]
			call a user ok`,
		"entries that are none": `
			hello {}
			tools [7,null,[],{},{"name":7},{"name":""},{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			call x user+host policy
			call 7 user+host ok`,
		"a change that was announced is the adapter's to read": `
			hello {}
			tools [{"name":"x","flowPolicy":{"acceptFrom":["user"]}}]
			stale tools
			call x user ok
			call x user+host policy`,
		"a connection that is closed": `
			hello {}
			tools []
			call x user ok
			close
			call x user unsent
			tomorrow's x user unsent
			tools []
			call x user unsent`,
	} {
		t.Run(name, func(t *testing.T) { run(t, lines) })
	}
}
