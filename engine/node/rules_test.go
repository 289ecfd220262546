package node

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// exported returns the values of the labels of each metric that running nodes export, by metric and
// label. Prometheus adds the label instance, whose values are unknown.
func exported(t *testing.T, nodes ...*Node) map[string]map[string][]string {
	t.Helper()
	all := map[string]map[string][]string{}
	for _, n := range nodes {
		for series := range scrape(t, n) {
			name, rest, _ := strings.Cut(series, "{")
			if all[name] == nil {
				all[name] = map[string][]string{"instance": nil}
			}
			for _, m := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
				all[name][m[1]] = append(all[name][m[1]], m[2])
			}
		}
	}
	return all
}

// checkQuery checks the syntax of a query, and that its metrics, and the labels that it groups and
// selects by, are exported. It returns all labels of these metrics.
func checkQuery(t *testing.T, query string, all map[string]map[string][]string) (of map[string][]string) {
	t.Helper()
	e, err := metricsql.Parse(query)
	require.NoError(t, err, query)
	of = map[string][]string{}
	var groups []string
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			require.Len(t, e.LabelFilterss, 1, query)
			filters := e.LabelFilterss[0]
			require.Equal(t, "__name__", filters[0].Label, query)
			require.Contains(t, all, filters[0].Value, query)
			labels := all[filters[0].Value]
			for _, f := range filters[1:] {
				assert.Contains(t, labels, f.Label, query)
			}
			maps.Copy(of, labels)
		case *metricsql.AggrFuncExpr:
			groups = append(groups, e.Modifier.Args...)
		}
	})
	require.NotEmpty(t, of, "the query %s names no metric", query)
	for _, g := range groups {
		assert.Contains(t, of, g, query)
	}
	return of
}

// ruleFile contains the fields of a file of alerting rules.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func decodeYAML(t *testing.T, file string, out any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(out))
}

var labelOf = regexp.MustCompile(`\$labels\.(\w+)`)

// humanize contains the functions of Prometheus' templates that the rules use.
var humanize = template.FuncMap{"humanize": fmt.Sprint, "humanizeDuration": fmt.Sprint}

// Each rule can fire, and has a text: its metrics and labels are those of a server.
func TestTheAlertingRulesAskForWhatTheServerExports(t *testing.T) {
	var file ruleFile
	decodeYAML(t, "../deploy/prometheus/rules.yaml", &file)
	member := newConfigured(t, func(string, *Config) {}, 0)
	all := exported(t, usedNode(t), member.nodes[member.ids[0]]) // only the latter has a certificate
	names := map[string]bool{}
	for _, g := range file.Groups {
		assert.NotEmpty(t, g.Name)
		for _, r := range g.Rules {
			require.NotEmpty(t, r.Alert)
			assert.False(t, names[r.Alert], r.Alert)
			names[r.Alert] = true
			if r.For != "" {
				_, err := model.ParseDuration(r.For)
				require.NoError(t, err, r.Alert)
			}
			assert.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
			assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
			of := checkQuery(t, r.Expr, all)
			for _, text := range r.Annotations {
				_, err := template.New("").Funcs(humanize).Parse("{{ $labels := .Labels }}{{ $value := .Value }}" + text)
				require.NoError(t, err, r.Alert)
				for _, m := range labelOf.FindAllStringSubmatch(text, -1) {
					assert.Contains(t, of, m[1], r.Alert)
				}
			}
		}
	}
	assert.Greater(t, len(names), 5)
}

// scaledObject contains the fields of KEDA's ScaledObject that the example sets.
type scaledObject struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		ScaleTargetRef  struct{ Name string } `yaml:"scaleTargetRef"`
		MinReplicaCount int                   `yaml:"minReplicaCount"`
		MaxReplicaCount int                   `yaml:"maxReplicaCount"`
		CooldownPeriod  int                   `yaml:"cooldownPeriod"`
		Triggers        []struct {
			Type     string
			Metadata struct {
				ServerAddress       string `yaml:"serverAddress"`
				Query               string
				Threshold           string
				ActivationThreshold string `yaml:"activationThreshold"`
			}
		}
	}
}

func TestTheExampleOfAutoscalingAsksForWhatTheServerExports(t *testing.T) {
	var o scaledObject
	decodeYAML(t, "../deploy/keda/scaledobject.yaml", &o)
	assert.Equal(t, "keda.sh/v1alpha1 ScaledObject", o.APIVersion+" "+o.Kind)
	assert.NotEmpty(t, o.Spec.ScaleTargetRef.Name)
	assert.Greater(t, o.Spec.MaxReplicaCount, o.Spec.MinReplicaCount)
	all := exported(t, usedNode(t))
	require.Len(t, o.Spec.Triggers, 1)
	trigger := o.Spec.Triggers[0]
	assert.Equal(t, "prometheus", trigger.Type)
	checkQuery(t, trigger.Metadata.Query, all)
	for _, number := range []string{trigger.Metadata.Threshold, trigger.Metadata.ActivationThreshold} {
		_, err := strconv.ParseFloat(number, 64)
		require.NoError(t, err)
	}
	counted := regexp.MustCompile(`state=~"([^"]*)"`).FindStringSubmatch(trigger.Metadata.Query)
	require.NotEmpty(t, counted)
	assert.Subset(t, all["prony_queue_tasks"]["state"], strings.Split(counted[1], "|"))
}
