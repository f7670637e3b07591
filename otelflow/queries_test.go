package otelflow_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/flowgate-mcp/flowgate/otelflow"
)

// The parser that everything here is read with.
var promQL = parser.NewParser(parser.Options{})

// query is one expression of the dashboard or of a rule.
type query struct {
	where, expr, legend string
}

// Variables of Grafana, which Prometheus does not know, and what stands for them in a test.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "5m", `"$job"`, `"records"`)

// scraped are labels that come from the scrape and not from the exporter.
var scraped = []string{"job"}

type dashboard struct {
	Title  string
	UID    string
	Panels []struct {
		ID                 int
		Title, Description string
		Type               string
		Targets            []struct {
			RefID, Expr, LegendFormat string
		}
	}
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("dashboards/flowgate.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries returns every query of the dashboard.
func (d dashboard) queries() (all []query) {
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, query{panel.Title, target.Expr, target.LegendFormat})
		}
	}
	return all
}

// rule is an alert as Prometheus reads it.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func readRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("dashboards/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || file.Groups[0].Name == "" || len(file.Groups[0].Rules) < 5 {
		t.Fatalf("got %+v", file)
	}
	return file.Groups[0].Rules
}

// TestRules checks what Prometheus would, and that each alert says enough.
func TestRules(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range readRules(t) {
		if names[r.Alert] || !model.LabelValue(r.Alert).IsValid() || r.Alert == "" {
			t.Errorf("the name %q is not one", r.Alert)
		}
		names[r.Alert] = true
		if r.For != "" {
			if d, err := model.ParseDuration(r.For); err != nil || d <= 0 {
				t.Errorf("%s: for %s: %v", r.Alert, r.For, err)
			}
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) || len(r.Labels) != 1 {
			t.Errorf("%s has the labels %v", r.Alert, r.Labels)
		}
		for _, name := range []string{"summary", "description"} {
			text := r.Annotations[name]
			if text == "" || strings.Count(text, "{{") != strings.Count(text, "}}") {
				t.Errorf("%s: %s is %q", r.Alert, name, text)
			}
			for _, m := range template.FindAllStringSubmatch(text, -1) {
				if !knownTemplate.MatchString(m[1]) {
					t.Errorf("%s: %s has the template %q", r.Alert, name, m[1])
				}
			}
		}
		if len(r.Annotations) != 2 {
			t.Errorf("%s has the annotations %v", r.Alert, r.Annotations)
		}
	}
}

// A template in an annotation, and those that the rules use: a label, or the value for people.
var (
	template      = regexp.MustCompile(`\{\{(.*?)\}\}`)
	knownTemplate = regexp.MustCompile(`^ (\$labels\.[a-z_]+|\$value \| (humanize|humanizePercentage|humanizeDuration)) $`)
)

// TestDashboard checks what Grafana would, as far as that can be known without it.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	if d.Title == "" || d.UID == "" || len(d.Panels) < 7 {
		t.Fatalf("the dashboard %q has the uid %q and %d panels", d.Title, d.UID, len(d.Panels))
	}
	ids := make(map[int]bool)
	for _, panel := range d.Panels {
		if ids[panel.ID] || panel.Title == "" || panel.Description == "" || panel.Type == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d, %q: the id occurs twice, or something is missing", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		refs := make(map[string]bool)
		for _, target := range panel.Targets {
			if refs[target.RefID] || target.RefID == "" {
				t.Errorf("%s: the reference %q is not one", panel.Title, target.RefID)
			}
			refs[target.RefID] = true
		}
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		if v.Type == "query" && v.Definition != "label_values(flowgate_lost_decisions_total, job)" {
			t.Errorf("the variable %s is %s", v.Name, v.Definition)
		}
	}
	if !slices.Equal(names, []string{"datasource", "job"}) {
		t.Errorf("got the variables %v", names)
	}
}

// Every metric, label and value in every query is one that the exporter shows for a sink,
// so a name that was changed here cannot leave an empty panel or a silent alert behind.
func TestQueriesNameWhatIsExported(t *testing.T) {
	exported := exported(t)
	for _, name := range []string{"flowgate_decisions_total", "flowgate_target_decisions_total", "flowgate_suppressed_decisions_total",
		"flowgate_lost_decisions_total", "flowgate_gate_duration_seconds_bucket"} {
		if exported[name] == nil {
			t.Fatalf("%s is not exported; there are %v", name, sortedKeys(exported))
		}
	}
	all := readDashboard(t).queries()
	for _, rule := range readRules(t) {
		texts := rule.Annotations["summary"] + rule.Annotations["description"]
		all = append(all, query{rule.Alert, rule.Expr, texts})
	}
	for _, q := range all {
		for _, mistake := range check(t, q, exported) {
			t.Errorf("%s: %s\n%s", q.where, mistake, q.expr)
		}
	}
}

// The check above has to find what it is for.
func TestCheckFindsMistakes(t *testing.T) {
	all := exported(t)
	for expr, want := range map[string]string{
		`sum(rate(flowgate_decision_total[5m]))`:                                        "flowgate_decision_total",
		`sum(rate(flowgate_decisions_total{flowgate_verdct="refused"}[5m]))`:            "flowgate_verdct",
		`sum(rate(flowgate_decisions_total{flowgate_verdict="rejected"}[5m]))`:          "rejected",
		`sum(rate(flowgate_decisions_total{flowgate_verdict=~"refused|denied"}[5m]))`:   "denied",
		`sum by (flowgate_target) (rate(flowgate_decisions_total[5m]))`:                 "flowgate_target",
		`sum by (le) (rate(flowgate_decisions_total[5m]))`:                              "le",
		`sum(flowgate_decisions_total unless on (flowgate_x) flowgate_decisions_total)`: "flowgate_x",
	} {
		if got := check(t, query{expr: expr}, all); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: got %q, want one mistake about %s", expr, got, want)
		}
	}
	legend := query{expr: "sum by (flowgate_mode) (rate(flowgate_decisions_total[5m]))", legend: "{{flowgate_verdict}} {{ $labels.job }}"}
	if got := check(t, legend, all); len(got) != 2 {
		t.Errorf("got %q, want two mistakes about the legend", got)
	}
}

// The labels that a legend of Grafana and a template of a rule name.
var legendLabel = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)

// check returns what is wrong with a query.
func check(t *testing.T, q query, exported values) (mistakes []string) {
	t.Helper()
	expr, err := promQL.ParseExpr(grafana.Replace(q.expr))
	if err != nil {
		return []string{err.Error()}
	}
	say := func(parts ...string) { mistakes = append(mistakes, strings.Join(parts, " ")) }
	has := func(node parser.Node, label string) bool {
		return slices.Contains(scraped, label) || shown(node, label, exported)
	}
	kept := make(map[string]bool)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			if exported[n.Name] == nil {
				say("no metric", n.Name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				if m.Name == model.MetricNameLabel || slices.Contains(scraped, m.Name) {
					continue
				}
				for value := range strings.SplitSeq(m.Value, "|") {
					if value != "" && !exported[n.Name][m.Name][value] || exported[n.Name][m.Name] == nil {
						say(n.Name, "has no", m.Name, "of", value)
					}
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				kept[label] = true
				if !has(n.Expr, label) {
					say("nothing has the label", label)
				}
			}
		case *parser.BinaryExpr:
			if n.VectorMatching == nil {
				return nil
			}
			for _, label := range n.VectorMatching.MatchingLabels {
				if !has(n, label) {
					say("nothing has the label", label)
				}
			}
		}
		return nil
	})
	for _, m := range legendLabel.FindAllStringSubmatch(q.legend, -1) {
		if !kept[m[1]] {
			say("the legend names", m[1], "by which nothing is summed")
		}
	}
	return mistakes
}

// shown reports whether every metric below node that is exported has the label.
func shown(node parser.Node, label string, exported values) bool {
	all := true
	parser.Inspect(node, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && exported[v.Name] != nil {
			all = all && exported[v.Name][label] != nil
		}
		return nil
	})
	return all
}

// The README lists the panels with what they answer, the queries and the alerts, as they are.
func TestReadmeListsQueries(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	d := readDashboard(t)
	for _, panel := range d.Panels {
		if row := "| " + panel.Title + " | " + panel.Description + " |\n"; !strings.Contains(readme, row) {
			t.Errorf("no row %s", row)
		}
	}
	queries := d.queries()
	for _, q := range queries {
		if !strings.Contains(readme, "\n"+q.expr+"\n") {
			t.Errorf("%s: no query %s", q.where, q.expr)
		}
	}
	var listed int
	for block := range strings.SplitSeq(readme, "```promql\n") {
		if before, _, ok := strings.Cut(block, "```"); ok && strings.Contains(before, "flowgate_") {
			listed += strings.Count(before, "\n")
		}
	}
	if listed != len(queries) {
		t.Errorf("the README lists %d queries, the dashboard has %d", listed, len(queries))
	}
	for _, rule := range readRules(t) {
		if !strings.Contains(readme, "| `"+rule.Alert+"` |") {
			t.Errorf("no row for %s", rule.Alert)
		}
	}
	for _, name := range []string{otelflow.MetricDecisions, otelflow.MetricTargets, otelflow.MetricSuppressed, otelflow.MetricLost, otelflow.MetricDuration} {
		if !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("no row for %s", name)
		}
	}
}
