package policydecl

// Assurance says how well a host knows who a principal is. It says nothing about
// what a tool does or whether a text is true. The five states are closed: nothing
// may be added, and whatever is not exactly one of them reads as [Unverified] (L4).
//
// The zero value is Unverified, the least assured state, so that a field nobody
// set can never widen what is accepted.
type Assurance uint8

// The assurance states, least assured first. The numbers order nothing on the
// wire; a policy accepts a state only by naming it.
const (
	// Unverified is a server of which nobody knows who runs it.
	Unverified Assurance = iota
	// TOFU is a server that the user let in once, and nothing proves who it is.
	TOFU
	// Verified is a server that has proved to the host who it is and what it declares.
	Verified
	// Host is text of the agent application's own making.
	Host
	// User is what the person at the keyboard has put in.
	User

	assurances = iota // how many there are
)

// The wire names, by number.
var assuranceNames = [assurances]string{"unverified", "tofu", "verified", "host", "user"}

// ParseAssurance returns the state that s names. It reports false, with
// [Unverified], for anything that is not exactly one of the five strings: letter
// case and surrounding space matter (L4).
func ParseAssurance(s string) (Assurance, bool) {
	switch s {
	case "unverified":
		return Unverified, true
	case "tofu":
		return TOFU, true
	case "verified":
		return Verified, true
	case "host":
		return Host, true
	case "user":
		return User, true
	}
	return Unverified, false
}

// known returns a, or Unverified for a number that names no state.
func (a Assurance) known() Assurance {
	if a < assurances {
		return a
	}
	return Unverified
}

// bit returns the mask that holds a alone.
func (a Assurance) bit() uint8 { return 1 << a.known() }

// String returns the wire name. A number that names no state is "unverified".
func (a Assurance) String() string { return assuranceNames[a.known()] }

// MarshalText returns the wire name, as [Assurance.String] does. The error is
// always nil.
func (a Assurance) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
