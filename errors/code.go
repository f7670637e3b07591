package flowerrors

import (
	"math"
	"strconv"
)

// CheckCode checks that a refusal may carry code (X3). It returns nil or a
// [*ConfigError] with an empty path.
//
// 0 is valid and stands for [DefaultCode]. Refused are the codes that JSON-RPC
// 2.0 keeps for itself, -32768 to -32000, in which MCP has its own ranges and
// in which clients read meanings such as "connection closed"; the code -32800,
// which means a cancelled request; and what does not fit 32 bits, which some
// peers cannot decode.
func CheckCode(code int) error {
	e := &ConfigError{
		Value: strconv.Itoa(code),
		Hint:  "leave it at 0 for " + strconv.Itoa(DefaultCode) + ", or take a code outside the reserved ranges",
	}
	switch {
	case -32768 <= code && code <= -32000:
		e.Reason = ReasonReserved
		e.Detail = "the codes from -32768 to -32000 belong to JSON-RPC and MCP"
	case code == -32800:
		e.Reason = ReasonReserved
		e.Detail = "the code -32800 means that a request was cancelled"
	case code < math.MinInt32:
		e.Reason, e.Limit = ReasonLimit, math.MinInt32
		e.Detail = "the code does not fit 32 bits"
	case code > math.MaxInt32:
		e.Reason, e.Limit = ReasonLimit, math.MaxInt32
		e.Detail = "the code does not fit 32 bits"
	default:
		return nil
	}
	return e
}
