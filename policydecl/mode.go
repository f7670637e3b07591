package policydecl

import (
	"strconv"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// Mode says what becomes of a request that a policy refuses (M1).
//
// The zero value says nothing: the mode of whatever is around counts, that of the server
// for a tool, and [Enforce] for a server that has said nothing either. So a mode is
// looser than Enforce only where somebody wrote that it is.
type Mode uint8

// The modes.
const (
	// ModeUnset leaves the choice to the next wider scope.
	ModeUnset Mode = iota
	// Enforce refuses the request.
	Enforce
	// DangerouslyReport lets the request run untouched and records the refusal that
	// there would have been.
	DangerouslyReport
	// DangerouslyOff judges nothing: the request runs as if there were no policy.
	DangerouslyOff
)

// The names of the modes, by number.
var modeNames = [...]string{"", "enforce", "report", "off"}

// String returns the mode as operators write it: "enforce", "report" or "off", and ""
// for [ModeUnset].
func (m Mode) String() string {
	if m.Known() {
		return modeNames[m]
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}

// Known reports whether m is one of the constants.
func (m Mode) Known() bool { return int(m) < len(modeNames) }

// Or returns m, or wider if m is unset, or [Enforce] if nothing is said at all. A value
// that is none of the constants is Enforce.
func (m Mode) Or(wider Mode) Mode {
	for _, mode := range [...]Mode{m, wider} {
		if mode != ModeUnset {
			if !mode.Known() {
				return Enforce
			}
			return mode
		}
	}
	return Enforce
}

// LooserThan reports whether m lets through what other stops. Unset counts as [Enforce].
func (m Mode) LooserThan(other Mode) bool { return m.Or(Enforce) > other.Or(Enforce) }

// ParseMode reads a mode as operators write it. The error is a
// [flowerrors.ConfigError] without a path; the mode is [Enforce] then.
func ParseMode(text string) (Mode, error) {
	for m := Enforce; m.Known(); m++ {
		if text == modeNames[m] {
			return m, nil
		}
	}
	return Enforce, &flowerrors.ConfigError{
		Value: text, Reason: flowerrors.ReasonUnknownToken, Detail: "no such mode", Hint: "use enforce, report or off",
	}
}
