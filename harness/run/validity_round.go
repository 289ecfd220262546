package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// judgeHost holds what was seen of the host and of the rate against the scenario's limits. Profiled rounds yield no figures: what
// is wrong with their host is a warning.
func (r *runner) judgeHost(w *windowProbe, m *measured) {
	if w.host == nil || w.host.signals == nil {
		return
	}
	m.round.Signals = w.host.signals
	j := judgeSignals(m.round.Signals, r.scenario.Validity)
	if w.kind == timed && len(r.scenario.Faults) == 0 && steadyLoad(w.loads.workloads) {
		m.round.Warmup = w.rates.judge()
		judgeTrend(&j, m.round.Warmup, r.scenario.Validity)
	}
	for _, name := range j.unknown {
		if !slices.Contains(r.unknown, name) {
			r.unknown = append(r.unknown, name)
		}
	}
	m.judged(j, w.kind == profiled)
}

// judged makes a round invalid for what is beyond a limit.
func (m *measured) judged(j judgement, warnOnly bool) {
	warnings := j.warnings
	if warnOnly {
		warnings = append(slices.Clone(j.reasons), warnings...)
		j.reasons = nil
	}
	for _, reason := range j.reasons {
		m.fault(result.Invalid, reason)
	}
	for _, warning := range warnings {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, warning))
	}
}

// warnOfUnknown says once what could not be judged.
func (r *runner) warnOfUnknown() {
	if len(r.unknown) > 0 {
		r.result.Warnings = append(r.result.Warnings,
			"this host does not say, so it could not be judged: "+strings.Join(r.unknown, ", "))
	}
}

// checkSlip judges whether the generator kept up with its schedule.
func (r *runner) checkSlip(open *load.Open, workload string, several bool, m *measured) {
	of := ""
	if several {
		of = "workload " + strings.ReplaceAll(workload, "%", "%%") + ": "
	}
	slip := time.Duration(open.Slip.ValueAtPercentile(99))
	var j judgement
	j.add("slip_ms_p99_max", float64(slip)/float64(time.Millisecond), r.scenario.Validity,
		of+"the generator did not keep up with its schedule: it sent one in a hundred tasks %s late or more, through its own fault", " ms")
	m.judged(j, false)
}
