package flowerrors_test

import (
	"reflect"
	"slices"
	"testing"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/vectors"
)

func rejected(list []vectors.Rejected) []flowerrors.Rejected {
	out := make([]flowerrors.Rejected, 0, len(list))
	for _, r := range list {
		out = append(out, flowerrors.Rejected(r))
	}
	return out
}

// TestRefusalVectors: X2 to X4, in the words of testdata/vectors. What is written is read again
// as a refusal.
func TestRefusalVectors(t *testing.T) {
	details := map[string]flowerrors.Detail{
		"": flowerrors.DetailFull, "full": flowerrors.DetailFull,
		"without-principals": flowerrors.DetailNoPrincipals, "key-only": flowerrors.DetailKeyOnly,
	}
	vectors.Run(t, "refusals", func(t *testing.T, v vectors.RefusalObject) {
		detail, ok := details[v.Show]
		if !ok {
			t.Fatalf("nothing is shown like that: %q", v.Show)
		}
		violation := &flowerrors.Violation{Rejected: rejected(v.Rejected), AcceptFrom: v.AcceptFrom}
		got := violation.AppendError(nil, v.Code, detail)
		if !vectors.Same(got, v.Error) {
			t.Errorf("%s, want %s", got, v.Error)
		}
		if slices.ContainsFunc(got, func(c byte) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("not on one plain line: %q", got)
		}
		if back, found, err := flowerrors.ReadViolation(v.Error); !found || err != nil || back == nil {
			t.Errorf("read again: %+v, %v, %v", back, found, err)
		}
	})
}

// TestRecognitionVectors: X2 and X5. The key alone makes an error a refusal.
func TestRecognitionVectors(t *testing.T) {
	vectors.Run(t, "recognise", func(t *testing.T, v vectors.Recognised) {
		got, found, err := flowerrors.ReadViolation(v.Error)
		if found != v.Want.Refusal || found && (err == nil) != v.Want.Readable || !found && err != nil {
			t.Fatalf("refusal %v, %v; want %+v", found, err, v.Want)
		}
		if !v.Want.Readable {
			return
		}
		want := &flowerrors.Violation{Rejected: rejected(v.Want.Rejected), AcceptFrom: v.Want.AcceptFrom}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read as %+v, want %+v", got, want)
		}
	})
}

// TestCodeVectors: X3, the codes that a refusal may have.
func TestCodeVectors(t *testing.T) {
	vectors.Run(t, "codes", func(t *testing.T, v vectors.Code) {
		if err := flowerrors.CheckCode(v.Code); (err == nil) != v.Allowed {
			t.Errorf("%v", err)
		}
	})
}
