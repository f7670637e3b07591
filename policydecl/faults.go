package policydecl

import (
	"errors"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
)

// faultList gathers every mistake of one declaration (P6), in the order found.
type faultList []error

// add appends err; nil adds nothing.
func (f *faultList) add(err *flowerrors.ConfigError) {
	if err != nil {
		*f = append(*f, err)
	}
}

// addAll appends every mistake in err with its path under prefix.
func (f *faultList) addAll(prefix string, err error) {
	if err != nil {
		*f = append(*f, flowerrors.Under(prefix, err))
	}
}

// join returns the mistakes as one error, or nil if there are none.
func (f faultList) join() error { return errors.Join(f...) }
