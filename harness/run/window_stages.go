package run

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// averageThink returns the average time that a worker needs to process a task. same is false if
// workloads differ in this time, or if it is unknown as in a k6 script.
func averageThink(workloads []scenario.Workload) (average time.Duration, same bool) {
	for i := range workloads {
		t := workloads[i].Think.Average()
		if workloads[i].Driver == scenario.DriverK6 || i > 0 && t != average {
			return 0, false
		}
		average = t
	}
	return average, len(workloads) > 0
}

// stages adds the stages of the servers in the window. It adds none if a server was restarted in
// the window, because the counts of its first process are missing.
func (c *counters) stages(m *measured) {
	if c.partial() {
		return
	}
	var before, after []observe.Metrics
	for _, s := range c.servers {
		before, after = append(before, s.metricsBefore), append(after, s.metricsAfter)
	}
	var problems []string
	m.round.Stages, problems = observe.Stages(before, after)
	if len(m.round.Stages) > 0 {
		between := c.servers[0].counters
		m.round.StagesOf = &result.Covering{Cycles: uint64(c.completed(m)), Seconds: between.To.At.Sub(between.From.At).Seconds()}
	}
	for _, problem := range problems {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, problem))
	}
}
