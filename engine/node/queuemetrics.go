package node

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/queue"
)

// queueSeriesMax is how many queues have series of their own: those that hold the most tasks. The others are
// summed up, so that a scrape stays of a bounded size whatever the tenants do.
const queueSeriesMax = 1_000

// otherQueues is the label queue of that sum. Its label tenant is empty, which no queue's is.
const otherQueues = "_other"

// queueCollector asks for the queues' figures at each scrape.
type queueCollector struct {
	stats     func() ([]queue.Stats, error)
	seriesMax int

	queues, enqueuedAll, completedAll *prometheus.Desc
	tasks, enqueued, completed        *prometheus.Desc
}

func newQueueCollector(stats func() ([]queue.Stats, error)) *queueCollector {
	ofQueue := []string{"tenant", "queue"}
	return &queueCollector{
		stats: stats, seriesMax: queueSeriesMax,
		queues:       prometheus.NewDesc("prony_queues", "Queues that there are.", nil, nil),
		enqueuedAll:  prometheus.NewDesc("prony_enqueued_total", "Tasks ever enqueued, of all queues.", nil, nil),
		completedAll: prometheus.NewDesc("prony_completed_total", "Tasks ever completed, of all queues.", nil, nil),
		tasks:        prometheus.NewDesc("prony_queue_tasks", "Tasks that a queue holds, by state.", append(ofQueue, "state"), nil),
		enqueued:     prometheus.NewDesc("prony_queue_enqueued_total", "Tasks ever enqueued.", ofQueue, nil),
		completed:    prometheus.NewDesc("prony_queue_completed_total", "Tasks ever completed.", ofQueue, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.queues, c.enqueuedAll, c.completedAll, c.tasks, c.enqueued, c.completed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	stats, err := c.stats()
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.queues, err)
		return
	}
	var all queue.Stats
	for i := range stats {
		add(&all, &stats[i])
	}
	out <- prometheus.MustNewConstMetric(c.queues, prometheus.GaugeValue, float64(len(stats)))
	out <- prometheus.MustNewConstMetric(c.enqueuedAll, prometheus.CounterValue, float64(all.Enqueued))
	out <- prometheus.MustNewConstMetric(c.completedAll, prometheus.CounterValue, float64(all.Completed))
	for _, q := range largest(stats, c.seriesMax) {
		c.collect(out, &q)
	}
}

func (c *queueCollector) collect(out chan<- prometheus.Metric, q *queue.Stats) {
	for _, in := range []struct {
		state string
		tasks uint64
	}{{"ready", q.Ready}, {"delayed", q.Delayed}, {"leased", q.Leased}, {"dead", q.Dead}} {
		out <- prometheus.MustNewConstMetric(c.tasks, prometheus.GaugeValue, float64(in.tasks), q.Tenant, q.Name, in.state)
	}
	out <- prometheus.MustNewConstMetric(c.enqueued, prometheus.CounterValue, float64(q.Enqueued), q.Tenant, q.Name)
	out <- prometheus.MustNewConstMetric(c.completed, prometheus.CounterValue, float64(q.Completed), q.Tenant, q.Name)
}

func depth(q *queue.Stats) uint64 { return q.Ready + q.Delayed + q.Leased + q.Dead }

// largest returns the n largest queues by depth, and after them the sum of the others, if there are any. It
// reorders stats.
func largest(stats []queue.Stats, n int) []queue.Stats {
	if len(stats) <= n {
		return stats
	}
	slices.SortFunc(stats, func(a, b queue.Stats) int {
		return cmp.Or(cmp.Compare(depth(&b), depth(&a)), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	other := queue.Stats{Name: otherQueues}
	for i := range stats[n:] {
		add(&other, &stats[n+i])
	}
	return append(stats[:n:n], other)
}

// add adds the figures of q to sum.
func add(sum, q *queue.Stats) {
	sum.Enqueued += q.Enqueued
	sum.Completed += q.Completed
	sum.Ready += q.Ready
	sum.Delayed += q.Delayed
	sum.Leased += q.Leased
	sum.Dead += q.Dead
}
