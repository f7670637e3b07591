package policydecl

// The keys, members and principals of the draft. They are protocol constants: a
// peer that spells one differently speaks of something else.
const (
	// LabelKey is the member of a request's params._meta that carries the label.
	LabelKey = "io.modelcontextprotocol/flowOrigin"

	// PolicyKey is the member of a declaration's _meta that carries its policy a
	// second time (D1), for clients that drop members they do not know.
	PolicyKey = "io.modelcontextprotocol/flowPolicy"

	// PolicyMember is the member of a declaration that carries its policy.
	PolicyMember = "flowPolicy"

	// CapabilityMember is the member of capabilities that announces flow policy (D2).
	CapabilityMember = "flow"

	// ExtensionKey is the member of capabilities.extensions that says the same in
	// the form of SEP-2133 (D2).
	ExtensionKey = "io.modelcontextprotocol/flow"

	// PrincipalUser is the principal of content the end user supplied.
	PrincipalUser = "urn:mcp:user"

	// PrincipalHost is the principal of content the host application made.
	PrincipalHost = "urn:mcp:host"
)

// The member names of a label, its contributors and a policy.
const (
	memberContributors = "contributors"
	memberComplete     = "complete"
	memberAssurance    = "assurance"
	memberPrincipal    = "principal"
	memberPublisher    = "publisher"
	memberAcceptFrom   = "acceptFrom"
)
