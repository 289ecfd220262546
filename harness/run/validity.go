package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/validity"
)

// judgeHost compares the signals of the host, the trend of the rate and the growth of backlogs with
// the limits of the scenario. Profiled rounds have no figures, so for them an unfit host only
// causes a warning.
func (r *runner) judgeHost(w *windowProbe, m *measured) {
	if w.host.signals == nil {
		return
	}
	j := validity.Signals(w.host.signals, r.scenario.Validity)
	if w.kind == timed && len(r.scenario.Faults) == 0 && steadyLoad(w.loads.workloads) {
		m.round.Warmup = w.rates.judge()
		judgeTrend(&j, m.round.Warmup, r.scenario.Validity)
		m.round.Balances = w.rates.balances(w.loads.workloads)
		judgeBalances(&j, m.round.Balances, r.scenario.Validity)
		m.warnOfBacklogs(w.loads.workloads)
	}
	for _, name := range j.Unknown {
		if !slices.Contains(r.unknown, name) {
			r.unknown = append(r.unknown, name)
		}
	}
	m.judged(j, w.kind == profiled)
}

// judged makes a round invalid for each reason. If warnOnly is set, it adds warnings instead.
func (m *measured) judged(j validity.Judgement, warnOnly bool) {
	warnings := j.Warnings
	if warnOnly {
		warnings = append(slices.Clone(j.Reasons), warnings...)
		j.Reasons = nil
	}
	for _, reason := range j.Reasons {
		m.fault(result.Invalid, reason)
	}
	for _, warning := range warnings {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, warning))
	}
}

func (r *runner) warningsOfUnknown() []string {
	if len(r.unknown) == 0 {
		return nil
	}
	return []string{"this host does not report these signals, so they were not judged: " + strings.Join(r.unknown, ", ")}
}

// foreignBusy is a threshold in percent of the time of all CPUs. If foreign processes use at least
// this much, they explain a late generator.
const foreignBusy = 10

func lateBecause(s *result.Signals) string {
	if s != nil && s.ForeignCPUPercent != nil && *s.ForeignCPUPercent >= foreignBusy {
		return fmt.Sprintf("while processes that are not of this run used %s %% of all CPUs' time", render.Digits(*s.ForeignCPUPercent, 3))
	}
	return "through its own fault"
}

// checkSlip judges whether the generator kept up with its schedule. In a profiled round it only
// adds a warning, because the generator is profiled too.
func (r *runner) checkSlip(open *load.Open, workload string, several bool, round kind, m *measured) {
	of := ""
	if several {
		of = "workload " + workload + ": "
	}
	slip := time.Duration(open.Slip.ValueAtPercentile(99))
	var j validity.Judgement
	j.Add("slip_ms_p99_max", float64(slip)/float64(time.Millisecond), r.scenario.Validity, " ms", func(shown string) string {
		return of + "the generator did not keep up with its schedule: it sent one in a hundred tasks " + shown + " late or more, " +
			lateBecause(m.round.Signals)
	})
	m.judged(j, round == profiled)
}
