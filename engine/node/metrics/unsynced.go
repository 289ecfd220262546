package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/unsynced"
)

// unsyncedMetrics shows the windows of loss. Gauges that are read periodically would miss the
// peaks. Therefore each fsync adds the peak since the previous fsync to the histograms.
type unsyncedMetrics struct {
	windows        unsynced.Windows // one per shard
	tasks, seconds *prometheus.HistogramVec
}

func newUnsyncedMetrics(shards int) *unsyncedMetrics {
	m := &unsyncedMetrics{
		tasks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_loss_window_tasks", Help: "Acknowledged enqueues and completions of tasks that no fsync covered, just before an fsync covered some of them.",
			Buckets: halfSteps(1, 27), // up to 134 million tasks
		}, []string{"shard"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_loss_window_seconds", Help: "Age of the oldest of these acknowledgements, when the fsync ended.",
			Buckets: halfSteps(100e-6, 24), // up to half an hour
		}, []string{"shard"}),
	}
	for i := range shards {
		tasks, seconds := m.tasks.WithLabelValues(strconv.Itoa(i)), m.seconds.WithLabelValues(strconv.Itoa(i))
		m.windows = append(m.windows, unsynced.New(func(peak unsynced.Loss) {
			tasks.Observe(float64(peak.Tasks))
			seconds.Observe(peak.Age.Seconds())
		}))
	}
	return m
}

// halfSteps returns bucket bounds from first through the given number of doublings. Between two
// doublings there is one more bound, at 1.5 times the lower one.
func halfSteps(first float64, doublings int) (bounds []float64) {
	for range doublings {
		bounds = append(bounds, first, 1.5*first)
		first *= 2
	}
	return append(bounds, first)
}

func (m *unsyncedMetrics) collectors() []prometheus.Collector {
	out := []prometheus.Collector{m.tasks, m.seconds}
	gauge := func(shard int, name, help string, value func() float64) {
		out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: shardLabel(shard)}, value))
	}
	for i, w := range m.windows {
		gauge(i, "prony_unsynced_tasks", "Enqueues and completions of tasks that this node acknowledged and no fsync of its log covers: the most that a power loss can lose.",
			func() float64 { return float64(w.Loss().Tasks) })
		gauge(i, "prony_unsynced_seconds", "Age of the oldest of these acknowledgements; 0 if there are no such acknowledgements.", func() float64 { return w.Loss().Age.Seconds() })
	}
	return out
}
