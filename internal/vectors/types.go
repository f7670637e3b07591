package vectors

import "github.com/go-json-experiment/json/jsontext"

// Contributor is one contributor as a reader has it.
type Contributor struct {
	Assurance string   `json:"assurance"`
	Principal Text     `json:"principal"`
	Publisher Text     `json:"publisher"`
	Unusable  []string `json:"unusable"` // members whose value was there and counts for nothing
}

// Label says how the text of a label is read.
type Label struct {
	Head
	Label    Text `json:"label"`    // nil: there is none
	TextOnly bool `json:"textOnly"` // decoding hides what is wrong
	Want     struct {
		Class        string        `json:"class"`
		Complete     bool          `json:"complete"`
		Contributors []Contributor `json:"contributors"`
		Repeats      int           `json:"repeats"` // how often the one contributor is there, if more than once
	} `json:"want"`
}

// URI says what the canonical form of a URI is.
type URI struct {
	Head
	URI       Text `json:"uri"`
	Canonical Text `json:"canonical"` // nil: unusable
}

// Equality says whether two URIs name the same principal.
type Equality struct {
	Head
	A     string `json:"a"`
	B     string `json:"b"`
	Equal bool   `json:"equal"`
}

// Fault is one mistake.
type Fault struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// PolicyText says how the text of a policy is read, by its author's server and by a host.
type PolicyText struct {
	Head
	Policy Text `json:"policy"`
	Author struct {
		Absent bool    `json:"absent"`
		Faults []Fault `json:"faults"`
	} `json:"author"`
	Published *struct { // nil: no host gets to see such a text
		AcceptFrom []string `json:"acceptFrom"`
		Default    bool     `json:"default"`
		Faulty     bool     `json:"faulty"`
	} `json:"published"`
}

// Policy is a policy; a nil one is absent.
type Policy struct {
	AcceptFrom []string `json:"acceptFrom"`
}

// Rejected is one entry of a violation set.
type Rejected struct {
	Assurance string `json:"assurance"`
	Principal string `json:"principal"`
}

// Refusal is what a decision says.
type Refusal struct {
	Accepted   bool       `json:"accepted"`
	Rejected   []Rejected `json:"rejected"`
	AcceptFrom []string   `json:"acceptFrom"`
	Answer     *bool      `json:"answer"` // together with the base answer
}

// Decision says whether policies accept a label.
type Decision struct {
	Head
	Self     string                         `json:"self"`
	Default  *Policy                        `json:"default"`
	Vendor   map[string]map[string][]string `json:"vendor"` // by prefix and value; nil values fail
	Policies []*Policy                      `json:"policies"`
	Label    Text                           `json:"label"`
	Base     *bool                          `json:"base"` // the answer without regard to the label
	Want     Refusal                        `json:"want"`
}

// Server is what a server declares.
type Server struct {
	Self      string             `json:"self"`
	Default   *Policy            `json:"default"`
	Tools     map[string]*Policy `json:"tools"`
	Prompts   map[string]*Policy `json:"prompts"`
	Resources map[string]*Policy `json:"resources"`
	Templates map[string]*Policy `json:"templates"`
	Prefixes  map[string]*Policy `json:"prefixes"`
}

// Target says which policies of a server govern a request, by what they make of a label.
type Target struct {
	Head
	Server Server `json:"server"`
	Target struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"target"`
	Label Text    `json:"label"`
	Want  Refusal `json:"want"`
}

// Pattern is a pattern of resources.
type Pattern struct {
	Kind    string `json:"kind"`
	Pattern Text   `json:"pattern"`
}

// Resource says which patterns govern a URI.
type Resource struct {
	Head
	Patterns []Pattern `json:"patterns"`
	URI      Text      `json:"uri"`
	Want     struct {
		Patterns []int `json:"patterns"` // exactly these
		AtLeast  []int `json:"atLeast"`  // these, and perhaps more
		Default  *bool `json:"default"`  // nil: either
		Refused  bool  `json:"refused"`
	} `json:"want"`
}

// PatternFaults says what is wrong with patterns.
type PatternFaults struct {
	Head
	Patterns []Pattern `json:"patterns"`
	Faults   []struct {
		Pattern int    `json:"pattern"`
		Reason  string `json:"reason"`
	} `json:"faults"`
}

// RefusalObject says which error object a refusal is.
type RefusalObject struct {
	Head
	Rejected   []Rejected     `json:"rejected"`
	AcceptFrom []string       `json:"acceptFrom"`
	Code       int            `json:"code"`
	Show       string         `json:"show"` // full, without-principals or key-only
	Error      jsontext.Value `json:"error"`
}

// Recognised says whether an error object is a refusal.
type Recognised struct {
	Head
	Error Text `json:"error"`
	Want  struct {
		Refusal    bool       `json:"refusal"`
		Readable   bool       `json:"readable"`
		Rejected   []Rejected `json:"rejected"`
		AcceptFrom []string   `json:"acceptFrom"`
	} `json:"want"`
}

// Code says whether a refusal may have a code.
type Code struct {
	Head
	Code    int  `json:"code"`
	Allowed bool `json:"allowed"`
}

// Mode says which mode holds for a target.
type Mode struct {
	Head
	Server string  `json:"server"`
	Target string  `json:"target"`
	Want   *string `json:"want"` // nil: the server's is no mode
}

// Published says how a host reads what a server publishes.
type Published struct {
	Head
	Hello       jsontext.Value `json:"hello"`
	Kind        string         `json:"kind"`
	Declaration jsontext.Value `json:"declaration"`
	Request     string         `json:"request"`
	Want        struct {
		Governed   bool     `json:"governed"`
		AcceptFrom []string `json:"acceptFrom"`
		Faulty     bool     `json:"faulty"`
	} `json:"want"`
}

// HostServer is a server that a host is connected to.
type HostServer struct {
	Name      string           `json:"name"`
	URI       string           `json:"uri"`
	Assurance string           `json:"assurance"`
	Publisher string           `json:"publisher"`
	Hello     jsontext.Value   `json:"hello"`
	Tools     []jsontext.Value `json:"tools"`
	Resources []jsontext.Value `json:"resources"`
	Templates []jsontext.Value `json:"templates"`
}

// Step is one thing that happens in a context: content of a server enters, something
// unknown enters, the context is summarised into a new one, or a request is built.
type Step struct {
	Enter      string  `json:"enter"`
	Assurance  string  `json:"assurance"`
	Publisher  *string `json:"publisher"`
	Incomplete bool    `json:"incomplete"`
	Derive     bool    `json:"derive"`

	Server     string         `json:"server"`
	Method     string         `json:"method"`
	Params     jsontext.Value `json:"params"`
	Answer     jsontext.Value `json:"answer"` // an error object; none is a result
	Result     jsontext.Value `json:"result"` // which comes back as it is
	Outcome    string         `json:"outcome"`
	Label      jsontext.Value `json:"label"`
	Rejected   []Rejected     `json:"rejected"`
	AcceptFrom []string       `json:"acceptFrom"`
}

// Host says what a host makes of a context.
type Host struct {
	Head
	Private        bool         `json:"private"`
	IgnorePolicies bool         `json:"ignorePolicies"`
	IgnoreCeiling  bool         `json:"ignoreCeiling"`
	Servers        []HostServer `json:"servers"`
	Start          []string     `json:"start"`
	Steps          []Step       `json:"steps"`
}
