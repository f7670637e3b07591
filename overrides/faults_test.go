package overrides_test

import (
	"strings"
	"testing"

	"github.com/flowgate-mcp/flowgate/overrides"
)

// faultCases are files with mistakes, and what is told of each: line, pointer, path,
// reason, value and rule.
var faultCases = []struct{ name, text, want string }{
	// What is no file of the format at all.
	{"", "", "\n0   missing \"\" P6\n"},
	{"", " \r\n\t", "\n0   missing \"\" P6\n"},
	{"", "# nothing\n", "\n0   missing \"\" P6\n"},
	{"", "---\n", "\n2   wrong-type \"null\" P6\n"},
	{"", "flowgate", "\n1   wrong-type \"flowgate\" P6\n"},
	{".json", "null", "\n1   wrong-type \"null\" P6\n"},
	{".json", "[]", "\n1   wrong-type \"(array)\" P6\n"},
	{"", "{}", "\n1 /flowgate flowgate missing \"\" P6\n"},
	{"", "\ufeffflowgate: 1", "\n1   wrong-type \"\" P6\n"},
	{"", "\xff\xfef\x00", "\n1   wrong-type \"\" P6\n"},
	{"", "\xfe\xff\x00f", "\n1   wrong-type \"\" P6\n"},
	{"", "flowgate: 1\nuri: \xff", "\n2   wrong-type \"\" P6\n"},
	{".json", "{\"flowgate\":1,\n\"uri\":\"\xed\xa0\x80\"}", "\n2   wrong-type \"\" P6\n"},
	{"", strings.Repeat(" ", overrides.MaxBytes+1), "\n0   over-limit \"1048577\" P6\n"},

	// The grammar.
	{"", "{\"flowgate\":1,\n}", "\n1   wrong-type \"\" JSON\n"},
	{"", "{\"flowgate\":1,\n\"mode\":off}", "\n2   wrong-type \"\" JSON\n"},
	{"", "{\"flowgate\":1,\n\"mode\":\"off\"\n", "\n3   wrong-type \"\" JSON\n"},
	{"", "{\"flowgate\":1}\n{}", "\n2   wrong-type \"\" JSON\n"},
	{"", "{\"flowgate\":1}\n\x00", "\n1   wrong-type \"\" JSON\n"},
	{"", `{"flowgate":1,"uri":"\ud800"}`, "\n1   wrong-type \"\" JSON\n"},
	{"", "flowgate: 1\n\tmode: off", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\nmode: [", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\nmode: @off", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\n\x07", "\n0   wrong-type \"\" YAML\n"},
	{"", "# a\n%YAML 1.1\n---\nflowgate: 1\nmode: off", "\n2   unsupported \"%YAML 1.1\" YAML\n"},
	{"", "%TAG ! !x\r\n---\nflowgate: 1", "\n1   unsupported \"%TAG ! !x\" YAML\n"},

	// What is YAML and not JSON.
	{"", "flowgate: 1\n---\nflowgate: 1\n", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\n---\n", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\n...\n---\n[", "\n4   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\ntools:\n  a: &a {mode: off}\n  b: *a\n", "\n3 /tools/a tools[\"a\"] unsupported \"&a\" YAML\n4 /tools/b tools[\"b\"] unsupported \"*a\" YAML\n"},
	{"", "flowgate: 1\ntools:\n  &a a: {mode: off}\n", "\n3 /tools/a tools[\"a\"] unsupported \"&a\" YAML\n"},
	{"", "&a flowgate: 1\n", "\n1 /flowgate flowgate unsupported \"&a\" YAML\n"}, // which is not missing besides
	{"", "flowgate: 1\nmode: *a\n", "\n0   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\ntools:\n  a:\n    <<: {mode: off}\n    mode: off\n", "\n4 /tools/a/<< tools[\"a\"][\"<<\"] unsupported \"<<\" YAML\n"},
	{"", "flowgate: 1\ntools:\n  \"<<\": {mode: nope}\n", "\n3 /tools/<</mode tools[\"<<\"].mode unknown-token \"nope\" M1\n"},
	{"", "flowgate: !!int 1\nmode: !mode off\nuri: !!str 7\ntools: !!map {}\n", `
1 /flowgate flowgate unsupported "!!int" YAML
2 /mode mode unsupported "!mode" YAML
3 /uri uri unsupported "!!str" YAML
4 /tools tools unsupported "!!map" YAML
`},
	{"", "flowgate: ! 1\n", "\n1 /flowgate flowgate unsupported \"!\" YAML\n"},
	{"", "flowgate: 1\n? [a]\n: 1\n", "\n2   wrong-type \"\" YAML\n"},
	{"", "flowgate: 1\ntools: {1: {}, 1.5: {}, 0x1F: {}, 1_000: {}, true: {}, yes: {}, Off: {}, n: {}, ~: {}, 2026-01-02: {}, 1:30: {}, =: {}}\n", `
2 /tools/1 tools["1"] wrong-type "1" YAML
2 /tools/1.5 tools["1.5"] wrong-type "1.5" YAML
2 /tools/0x1F tools["0x1F"] wrong-type "0x1F" YAML
2 /tools/1_000 tools["1_000"] wrong-type "1_000" YAML
2 /tools/true tools["true"] wrong-type "true" YAML
2 /tools/yes tools["yes"] wrong-type "yes" YAML
2 /tools/Off tools["Off"] wrong-type "Off" YAML
2 /tools/n tools["n"] wrong-type "n" YAML
2 /tools/~0 tools["~"] wrong-type "~" YAML
2 /tools/2026-01-02 tools["2026-01-02"] wrong-type "2026-01-02" YAML
2 /tools/1:30 tools["1:30"] wrong-type "1:30" YAML
2 /tools/= tools["="] wrong-type "=" YAML
`},

	// What an editor does not show as the parser reads it.
	{"", "flowgate: 1 # harmless\u2028mode: off\n", "\n1   wrong-type \"\\u2028\" YAML\n"},
	{"", "flowgate: 1 # harmless\rmode: off\n", "\n1   wrong-type \"\\r\" YAML\n"},
	{"", "flowgate: 1\ntools: {ex\u200bport: {mode: enforce}, ex\u00adport: {mode: enforce}}\n", "\n2   wrong-type \"\\u200b\" YAML\n2   wrong-type \"\\u00ad\" YAML\n"},
	{"", "flowgate: 1\r\n# a\u0085# \u202e\r\n", "\n2   wrong-type \"\\u0085\" YAML\n2   wrong-type \"\\u202e\" YAML\n"},

	// Names.
	{"", "flowgate: 1\nmode: off\nmode: off\ntools: {a: {mode: off}, a: {mode: off, mode: off}}\n", `
3 /mode mode duplicate "mode" L8
4 /tools/a tools["a"] duplicate "a" L8
4 /tools/a/mode tools["a"].mode duplicate "mode" L8
`},
	{"", `{"flowgate":1,"flowgate":2,"mode":"off","mode":"off"}`, "\n1 /flowgate flowgate duplicate \"flowgate\" L8\n1 /mode mode duplicate \"mode\" L8\n"},
	{"", `{"flowgate":1,"mode":"off","Mode":"off","mo\u0064e":"off"}`, "\n1 /mode mode duplicate \"mode\" L8\n1 /Mode Mode unknown-member \"Mode\" P6\n"},
	{"", "flowgate: 1\ntool: {}\ndefault: {acceptFrom: [], acceptform: [], mode: off}\nprompts: {a: {accept_from: [], mode: off, \"\": 1}}\n", `
2 /tool tool unknown-member "tool" P6
3 /default/acceptform default.acceptform unknown-member "acceptform" P6
3 /default/mode default.mode unknown-member "mode" P6
4 /prompts/a/accept_from prompts["a"].accept_from unknown-member "accept_from" P6
4 /prompts/a/ prompts["a"][""] unknown-member "" P6
`},

	// Types.
	{"", "flowgate: \"1\"\nuri: 7\ndefault: [self]\nmode: false\ndangerouslyReportUndeclared: yes\ndangerouslyLoosen: 1\ntools: []\nprompts: {a: [], b: off}\n", `
1 /flowgate flowgate wrong-type "1" P6
2 /uri uri wrong-type "7" P2
3 /default default wrong-type "(array)" P4
4 /mode mode wrong-type "false" M1
5 /dangerouslyReportUndeclared dangerouslyReportUndeclared wrong-type "yes" M1
6 /dangerouslyLoosen dangerouslyLoosen wrong-type "1" M1
7 /tools tools wrong-type "(array)" P6
8 /prompts/a prompts["a"] wrong-type "(array)" P6
8 /prompts/b prompts["b"] wrong-type "off" P6
`},
	{"", "flowgate: null\nuri:\ndefault: ~\nmode: Null\ndangerouslyReportUndeclared: null\ndangerouslyLoosen:\ntools:\nprompts: {a: , b: {acceptFrom: , mode: , optional: }}\nresources: {x://a: {acceptFrom: [null]}}\n", `
1 /flowgate flowgate wrong-type "null" P6
2 /uri uri wrong-type "null" P2
3 /default default wrong-type "null" P4
4 /mode mode wrong-type "null" M1
5 /dangerouslyReportUndeclared dangerouslyReportUndeclared wrong-type "null" M1
6 /dangerouslyLoosen dangerouslyLoosen wrong-type "null" M1
7 /tools tools wrong-type "null" P6
8 /prompts/a prompts["a"] wrong-type "null" P6
8 /prompts/b/mode prompts["b"].mode wrong-type "null" M1
8 /prompts/b/optional prompts["b"].optional wrong-type "null" P6
8 /prompts/b/acceptFrom prompts["b"].acceptFrom wrong-type "null" P6
9 /resources/x:~1~1a/acceptFrom/0 resources["x://a"].acceptFrom[0] wrong-type "null" P6
`},
	{"", "flowgate: 2\nmode: Off\n", "\n1 /flowgate flowgate unsupported \"2\" P6\n2 /mode mode unknown-token \"Off\" M1\n"},
	{"", `{"flowgate":1.0}`, "\n1 /flowgate flowgate unsupported \"1.0\" P6\n"},
	{"", "flowgate: 0x1", "\n1 /flowgate flowgate unsupported \"0x1\" P6\n"},
	{"", "a: [[[[[[[[[7]]]]]]]]]\nflowgate: 1", "\n1 /a/0/0/0/0/0/0/0 a[0][0][0][0][0][0][0] over-limit \"\" P6\n1 /a a unknown-member \"a\" P6\n"},
	{"", `{"flowgate":1,"a":{"b":[[[[[[[{}]]]]]]]}}`, "\n1 /a/b/0/0/0/0/0/0 a.b[0][0][0][0][0][0] over-limit \"\" P6\n1 /a a unknown-member \"a\" P6\n"},

	// Policies, URIs and patterns, as policydecl judges them.
	{"", "flowgate: 1\nuri: records\ndefault:\n  acceptFrom:\n    - User\n    - user\n    - https://*\n    - user\ntools:\n  export:\n    acceptFrom: [self, 7, [user], {a: b}, https://user@h/]\n", `
2 /uri uri unusable-uri "records" U2
5 /default/acceptFrom/0 default.acceptFrom[0] unknown-token "User" P1
7 /default/acceptFrom/2 default.acceptFrom[2] never-matches "https://*" P6
8 /default/acceptFrom/3 default.acceptFrom[3] duplicate "user" P6
11 /tools/export/acceptFrom/1 tools["export"].acceptFrom[1] wrong-type "7" P6
11 /tools/export/acceptFrom/2 tools["export"].acceptFrom[2] wrong-type "(array)" P6
11 /tools/export/acceptFrom/3 tools["export"].acceptFrom[3] wrong-type "(object)" P6
11 /tools/export/acceptFrom/4 tools["export"].acceptFrom[4] unusable-uri "https://user@h/" U2
`},
	{"", "flowgate: 1\nuri: urn:mcp:user\ndefault: {}\ntools: {a: {}, b: {optional: true}, \"\": {mode: off}, c: {acceptFrom: user}}\n", `
2 /uri uri reserved "urn:mcp:user" P2
3 /default/acceptFrom default.acceptFrom missing "" P6
4 /tools/a tools["a"] missing "" P6
4 /tools/b tools["b"] missing "" P6
4 /tools/ tools[""] missing "" P6
4 /tools/c/acceptFrom tools["c"].acceptFrom wrong-type "user" P6
`},
	{"", "flowgate: 1\nuri: \"\"\nresources:\n  a b: {mode: off}\n  x://{a}: {mode: off, optional: false}\n  x://a: {mode: off}\n  X://A?q: {mode: off}\ntemplates: {\"x://{*a}\": {mode: off}}\nprefixes: {x://a: {mode: off, optional: true}}\n", `
2 /uri uri wrong-type "" P2
4 /resources/a b resources["a b"] unusable-uri "a b" R2
5 /resources/x:~1~1{a}/optional resources["x://{a}"].optional unsupported "" P6
5 /resources/x:~1~1{a} resources["x://{a}"] never-matches "x://{a}" P6
6 /resources/x:~1~1a resources["x://a"] duplicate "x://a" P6
8 /templates/x:~1~1{*a} templates["x://{*a}"] unusable-uri "x://{*a}" R2
9 /prefixes/x:~1~1a/optional prefixes["x://a"].optional unsupported "" P6
9 /prefixes/x:~1~1a prefixes["x://a"] never-matches "x://a" P6
`},
	// An element that could not be read keeps its place.
	{"", "flowgate: 1\ntools: {a: {acceptFrom: [!x self, User]}, b: {acceptFrom: !x [self]}}\n", `
2 /tools/a/acceptFrom/0 tools["a"].acceptFrom[0] unsupported "!x" YAML
2 /tools/b/acceptFrom tools["b"].acceptFrom unsupported "!x" YAML
2 /tools/a/acceptFrom/1 tools["a"].acceptFrom[1] unknown-token "User" P1
`},
}

// What YAML does not take at the start of a value is said in words (P6).
func TestYAMLHints(t *testing.T) {
	for text, want := range map[string]string{
		"flowgate: 1\nmode:\n\t- x": "spaces in place of a tab",
		"flowgate: 1\nmode: @off":   "put in quotes",
		"flowgate: 1\nmode: [":      "correct it",
	} {
		if _, faults := overrides.Validate("", []byte(text)); len(faults) != 1 || !strings.Contains(faults[0].Hint, want) {
			t.Errorf("%q: %v", text, faults)
		}
	}
}
