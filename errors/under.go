package flowerrors

import (
	"errors"
	"fmt"
)

// Under returns err with prefix put before the path of every [ConfigError] in
// it, joined again in the same order; see [ConfigError.Under]. It returns nil
// for nil.
//
// Nothing is lost: an error that holds no ConfigError is kept, wrapped in one
// that names the prefix. The text of a wrapper around a ConfigError is dropped,
// because the path takes its place.
func Under(prefix string, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(under(nil, prefix, err)...)
}

func under(out []error, prefix string, err error) []error {
	if e, ok := err.(*ConfigError); ok {
		if e == nil {
			return out
		}
		return append(out, e.Under(prefix))
	}
	switch u := err.(type) {
	case nil:
		return out
	case interface{ Unwrap() []error }:
		for _, child := range u.Unwrap() {
			out = under(out, prefix, child)
		}
		return out
	case interface{ Unwrap() error }:
		for range All(err) {
			return under(out, prefix, u.Unwrap())
		}
	}
	if prefix == "" {
		return append(out, err)
	}
	return append(out, fmt.Errorf("%s: %w", appendPlain(nil, prefix), err))
}
