package flowreport

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// maxPageRows is how many rows of a table the page shows.
const maxPageRows = 100

// policyFor is the attribute with the content security policy: nothing may be fetched, run
// or sent, and the only style is the one with that digest.
func policyFor(style string) template.HTMLAttr {
	digest := sha256.Sum256([]byte(style))
	return template.HTMLAttr(`content="default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(digest[:]) + `'; base-uri 'none'; form-action 'none'"`)
}

// pageData is what the template is given. All texts in it are escaped by the template; the
// two that are not are constants of this package.
type pageData struct {
	Policy   template.HTMLAttr
	Style    template.CSS
	Answer   string
	Headline string
	Because  []string
	Period   string
	Numbers  []numberData
	Pictures []picture
	Tables   []tableData
	Notes    []string
}

type numberData struct{ Name, Value, Note, Class string }

type tableData struct {
	ID, Title, Note string
	Head            []cellData
	Rows            [][]cellData
	More            string
}

// cellData is one cell. Label repeats the head of its column for narrow pages.
type cellData struct {
	Text, Sub, Label, Class string
	Header                  bool
}

// WritePage writes the report as one HTML page that needs nothing else: no script, no
// network, no other file. What records say is text in it and never anything more.
func (r *Report) WritePage(w io.Writer) error {
	data := pageData{
		Policy: policyFor(pageStyle), Style: template.CSS(pageStyle),
		Answer: r.Answer.String(), Headline: r.Headline(), Because: r.Because(), Period: r.periodText(), Notes: r.Notes(),
		Tables: r.tables(),
	}
	classes := map[string]string{"would stop": "would", "stopped": "stop", "accepted": "ok"}
	for _, n := range r.Numbers() {
		data.Numbers = append(data.Numbers, numberData{n.Name, Grouped(n.Value), strings.TrimSpace(n.Note), classes[n.Name]})
	}
	for _, l := range layouts {
		data.Pictures = append(data.Pictures, r.draw(l))
	}
	return pageTemplate.Execute(w, data)
}

func (r *Report) periodText() string {
	s := count(r.Lines.Records, "decision record")
	if r.Total.First.IsZero() {
		return s
	}
	return s + " from " + stamp(r.Total.First) + " to " + stamp(r.Total.Last)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "\u2013"
	}
	return t.UTC().Format("2006-01-02 15:04") + " UTC"
}

// sortBy sorts by three numbers.
func sortBy[T any](list []T, key func(T) [3]int) {
	slices.SortFunc(list, func(a, b T) int {
		x, y := key(a), key(b)
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(x[2], y[2]))
	})
}
