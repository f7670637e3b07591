//go:build interop

package interop

import (
	"image"
	"image/color"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// scheme is the colours of a page for a bright or a dark screen, by the names that its
// style gives them.
type scheme map[string]color.RGBA

// schemes reads the colours of the page: the bright ones, and the dark ones behind them.
func schemes(t *testing.T, page string) (bright, dark scheme) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, style, _ := strings.Cut(string(text), "<style>")
	first, second, ok := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	second, _, more := strings.Cut(second, "* {")
	if !ok || !more {
		t.Fatal("the style has no dark colours")
	}
	read := func(s string) scheme {
		all := scheme{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(s, -1) {
			n, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			all[m[1]] = color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}
		}
		return all
	}
	bright, dark = read(first), read(second)
	if len(bright) < 10 || len(bright) != len(dark) {
		t.Fatalf("%d bright colours and %d dark ones", len(bright), len(dark))
	}
	return bright, dark
}

// luminance and contrast are those of WCAG 2.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Every text is easy to read on what is behind it, and bands are seen.
func TestReportPageContrast(t *testing.T) {
	t.Parallel()
	bright, dark := schemes(t, reportPage(testContext(t), t, sampleLog))
	for name, s := range map[string]scheme{"bright": bright, "dark": dark} {
		for _, behind := range []string{"page", "card"} {
			for text, least := range map[string]float64{"text": 12, "muted": 4.5, "would": 4.5, "stop": 4.5, "ok": 4.5} {
				if got := contrast(s[text], s[behind]); got < least {
					t.Errorf("%s: %s on %s has a contrast of %.1f, less than %.1f", name, text, behind, got, least)
				}
			}
		}
		for _, node := range []string{"would-fill", "stop-fill", "ok-fill", "none-fill", "muted"} {
			if got := contrast(s[node], s["card"]); got < 2 {
				t.Errorf("%s: %s has a contrast of %.1f", name, node, got)
			}
		}
	}
}

// The page is drawn in both schemes and at both widths, in the colours that it names, and
// fits: nothing sticks out to the right.
func TestReportPagePictures(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	page := reportPage(ctx, t, sampleLog)
	bright, dark := schemes(t, page)
	for _, size := range []string{"1280,1600", "400,1600"} {
		for _, s := range []struct {
			name, number string // the number that the browser gives the scheme
			scheme
		}{{"dark", "0", dark}, {"bright", "1", bright}} {
			img := shoot(ctx, t, page, size, s.number)
			counts := colours(img, img.Bounds())
			if len(counts) < 100 {
				t.Errorf("%s, %s: %d colours", s.name, size, len(counts))
			}
			for name, least := range map[string]int{"page": 10_000, "card": 100_000, "text": 500, "muted": 300, "line": 1000, "ok-fill": 100, "would-fill": 100} {
				if counts[s.scheme[name]] < least {
					t.Errorf("%s, %s: %d pixels are %s, want %d", s.name, size, counts[s.scheme[name]], name, least)
				}
			}
			b := img.Bounds()
			if edge := colours(img, image.Rect(b.Max.X-8, b.Min.Y, b.Max.X, b.Max.Y)); len(edge) != 1 || edge[s.scheme["page"]] == 0 {
				t.Errorf("%s, %s: something is at the right edge: %v", s.name, size, edge)
			}
		}
	}
}
