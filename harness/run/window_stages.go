package run

import (
	"fmt"

	"github.com/pronybench/prony/harness/observe"
)

// stages fills in the stages of the servers in the window.
func (w *windowProbe) stages(m *measured) {
	var before, after []observe.Metrics
	for _, s := range w.servers {
		before, after = append(before, s.metricsBefore), append(after, s.metricsAfter)
	}
	var problems []string
	m.round.Stages, problems = observe.Stages(before, after)
	for _, problem := range problems {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, problem))
	}
}
