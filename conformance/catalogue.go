package conformance

import (
	"slices"
	"strings"
)

// kind is one check of the catalogue.
type kind struct {
	id, title string
	run       func(*checker)
}

// catalogue is every check that is made in one era, in the order in which they are made.
var catalogue = []kind{
	{"5/tools", "tools/call is gated", func(c *checker) { c.route(routeTools) }},
	{"5/tasks", "a call as a task is refused before there is a task", func(c *checker) { c.route(routeTasks) }},
	{"5/resources", "resources/read of a resource is gated", func(c *checker) { c.route(routeResources) }},
	{"5/templates", "resources/read through a template is gated", func(c *checker) { c.route(routeTemplates) }},
	{"5/prompts", "prompts/get is gated", func(c *checker) { c.route(routePrompts) }},
	{"5/completion", "completion/complete is gated", func(c *checker) { c.route(routeCompletion) }},
	{"5/subscribe", "resources/subscribe is gated", func(c *checker) { c.route(routeSubscribe) }},
	{"5/listen", "subscriptions/listen is gated", func(c *checker) { c.route(routeListen) }},
	{"L1", "no label, or none that is an object, is one unverified contributor", (*checker).l1},
	{"L2", "a label without contributors is one unverified contributor", (*checker).l2},
	{"L3", "a contributor that is no object is unverified", (*checker).l3},
	{"L4", "an assurance that is none of the five states is unverified", (*checker).l4},
	{"L5", "a principal that is no usable URI does not count", (*checker).l5},
	{"L6", "only the literal true makes a label complete", (*checker).l6},
	{"L7", "a large label is not cut", (*checker).l7},
	{"L8", "a message that can be read in two ways is an invalid request", (*checker).l8},
	{"P1", "whoever is not on the list is refused", (*checker).p1},
	{"P2", "self is the server's own URI, and nobody else", (*checker).p2},
	{"P3", "a token that is not understood matches nobody", (*checker).p3},
	{"P4", "an empty list accepts nobody, and no policy means the default", (*checker).p4},
	{"P5", "a policy replaces the default", (*checker).p5},
	{"P7", "every contributor must match, and the others are named", (*checker).p7},
	{"P8", "order and repetition change nothing, and who is added or withheld opens nothing", (*checker).p8},
	{"P9", "no label turns an error of the server's own into anything else", (*checker).p9},
	{"U1", "principals are compared in their canonical form, and no looser", (*checker).u1},
	{"U2", "an odd URI is nobody's name", (*checker).u2},
	{"U3", "a urn is compared exactly behind its namespace", (*checker).u3},
	{"U4", "self and publishers are compared as principals are", (*checker).u4},
	{"R1", "query and fragment lead to nothing that is refused without them", (*checker).r1},
	{"R2", "other spellings lead to nothing that is refused", (*checker).r2},
	{"R3", "a policy holds inside the space of a wider pattern, and the other way round", (*checker).r3},
	{"R4", "a URI over 8 KiB is refused, and what no policy governs has the default", (*checker).r4},
	{"X1", "a refusal is an error with the id of the request", (*checker).x1},
	{"X2", "a refusal has the constant message and the key with its detail", (*checker).x2},
	{"X3", "the code of a refusal is not reserved, its HTTP status is 200", (*checker).x3},
	{"X4", "a refusal shows all, or no principals, or nothing, and always alike", (*checker).x4},
	{"X5", "no other error has the key", (*checker).x5},
	{"G1", "the server's own errors come before a refusal", (*checker).g1},
	{"G2", "nothing comes before a refusal", (*checker).g2},
	{"G3", "who is refused is not given an answer that somebody else had", (*checker).g3},
	{"G5", "what the policy accepts is not refused", (*checker).g5},
	{"D1", "policies are published in both forms, and are right", (*checker).d1},
	{"D2", "the capability is announced in both forms, and is right", (*checker).d2},
	{"D4", "what is published is what is enforced", (*checker).d4},
}

// idAcross is the check that compares the eras.
const idAcross = "G4"

// Unchecked says why rules are not checked.
type Unchecked struct {
	// Rules are the rules, as docs/rules.md numbers them, in its order.
	Rules []string
	// Because says why nobody can see from outside whether they are kept.
	Because string
}

// String says so for people.
func (u *Unchecked) String() string {
	return "not checked from outside: " + strings.Join(u.Rules, ", ") + ", because " + u.Because
}

// unchecked are the rules that have no check. Each rule is here or in the catalogue.
var unchecked = []Unchecked{
	{[]string{"L9"}, "what a reader says that it saw goes to those who run the server"},
	{[]string{"P6"}, "the mistakes that are refused when a policy is registered are never published"},
	{[]string{"G6"}, "a gate is tampered with, and says so, inside the server"},
	{[]string{"D3"}, "what would be listed without the gate is not there to compare"},
	{[]string{"M1"}, "a mode is set inside the server, and only that of the server is announced"},
	{[]string{"M2", "M3"}, "records and logs go to those who run the server"},
	{[]string{"H1", "H2", "H3", "H4", "H5", "H6", "H7"}, "a host keeps it, and not the recipient"},
}

// allUnchecked returns a copy that is the caller's.
func allUnchecked() []Unchecked {
	list := slices.Clone(unchecked)
	for i := range list {
		list[i].Rules = slices.Clone(list[i].Rules)
	}
	return list
}
