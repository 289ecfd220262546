package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stalls"
)

func (m *Metrics) watchStalls(l *stalls.Log) {
	for _, cause := range stalls.Causes() {
		label := prometheus.Labels{"cause": cause.String()}
		m.counter("prony_slow_commits_total", "Commits that took more than 5 ms, by the cause of the largest part of their time.", label,
			func() uint64 { n, _ := l.Totals(cause); return n })
		m.seconds("prony_slow_commit_seconds_total", "Time of commits that took more than 5 ms, divided among the causes.", label,
			func() time.Duration { _, took := l.Totals(cause); return took })
	}
}
