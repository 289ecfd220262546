package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// scenarioSection lists the settings of the scenario that affect the figures. It omits settings
// that a scenario does not have.
func scenarioSection(p *doc.Document, r *result.Result) {
	s := &r.Manifest.Scenario
	if s.Topology.Kind == "" && len(s.Workloads) == 0 {
		return
	}
	table := settings{scenario: s}
	table.cluster()
	if len(s.Workloads) == 1 {
		table.addRows(s.Workloads[0].DriverRows())
	}
	table.addRows(s.Topology.ServerRows())
	if len(s.Workloads) == 1 {
		table.addRows(s.Workloads[0].LoadRows())
		table.sweptOnly(&s.Workloads[0])
		table.duration("lease", s.Workloads[0].Lease)
	}
	table.phases()
	p.Heading(2, "Scenario")
	p.Table([]string{"setting", "value"}, table.rows)
	for i := range s.Workloads {
		if len(s.Workloads) == 1 {
			break // in the table above
		}
		w := &s.Workloads[i]
		own := settings{scenario: s}
		own.addRows(w.DriverRows())
		own.addRows(w.LoadRows())
		own.duration("lease", w.Lease)
		p.Table([]string{"workload " + doc.Code(w.Name), "value"}, own.rows)
	}
	differingSettings(p, s)
}

// differingSettings lists all settings that differ from their defaults, with the paths that a sweep
// would use.
func differingSettings(p *doc.Document, s *scenario.Scenario) {
	var rows [][]string
	for _, setting := range s.Settings() {
		if setting.Default != "" {
			rows = append(rows, []string{doc.Code(setting.Path), doc.Code(setting.Value), doc.Code(setting.Default)})
		}
	}
	p.Heading(3, "Settings that differ from their defaults")
	if len(rows) == 0 {
		p.Paragraph("None: the scenario only has settings without a default.")
		return
	}
	p.Paragraph("The list is complete: every other setting of the scenario has its default.")
	p.Table([]string{"setting", "value", "default"}, rows)
}

// settings are the rows of a table of a scenario's attributes.
type settings struct {
	scenario *scenario.Scenario
	rows     [][]string
}

// add adds a row with the value of an attribute, or with all of its values if a sweep of that path
// has several. It omits an empty value.
func (t *settings) add(name, path, value string) {
	switch swept := t.scenario.Swept(path); {
	case len(swept) > 0:
		var values []string
		for _, v := range swept {
			values = append(values, doc.Code(v))
		}
		t.rows = append(t.rows, []string{name, "swept: " + strings.Join(values, ", ")})
	case value != "":
		t.rows = append(t.rows, []string{name, doc.Code(value)})
	}
}

func (t *settings) cluster() {
	top := t.scenario.Topology
	t.add("topology", "topology.kind", top.Kind)
	if top.Target != nil {
		t.target(top)
		return
	}
	t.addRows(top.ClusterRows())
}

// target adds rows for the servers of a driver program. A sweep usually sweeps these attributes
// together.
func (t *settings) target(top scenario.Topology) {
	for _, of := range []struct{ name, path, value string }{
		{"target", "target.name", top.Target.Name}, {"nodes", "target.nodes", unlessZero(top.Nodes)}, {"guarantee", "target.guarantee", top.Durability},
	} {
		if swept := t.scenario.SweptTogether(of.path); len(swept) > 0 {
			t.rows = append(t.rows, []string{of.name, "swept: " + doc.Code(strings.Join(swept, ", "))})
			continue
		}
		t.add(of.name, of.path, of.value)
	}
}

func (t *settings) addRows(rows []scenario.Row) {
	for _, r := range rows {
		t.add(r.Label, r.Path, r.Value)
	}
}

// sweptOnly adds the attributes of a workload that have their own row only if they are swept.
func (t *settings) sweptOnly(w *scenario.Workload) {
	for _, attribute := range []string{"payload", "arrivals", "lease"} {
		t.add(attribute, workloadPath(w, attribute), "")
	}
}

func (t *settings) phases() {
	s := t.scenario
	t.addRows(s.Phases.Rows())
	if s.SeriesEvery > 0 {
		t.duration("series, a sample each", s.SeriesEvery)
	}
	if s.Soak != nil {
		t.addRows(s.Soak.Rows())
	}
	if s.Backlog != nil {
		t.addRows(s.Backlog.Rows(scenario.Any(s.Workloads, scenario.Workload.ClaimsAlone)))
	}
}

func (t *settings) duration(name string, d time.Duration) { t.add(name, "", d.String()) }

func workloadPath(w *scenario.Workload, attribute string) string {
	return "workload." + w.Name + "." + attribute
}

// unlessZero formats a number, or returns "" for 0.
func unlessZero[N int | float64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'f', -1, 64)
}
