package metrics

import (
	"cmp"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/queue"
)

// queueSeriesMax is the maximum number of queues with their own series. These are the queues with
// the most tasks. The other queues are summed, which limits the size of a scrape.
const queueSeriesMax = 1_000

// otherQueues is the label queue of that sum. Its label tenant is empty, to distinguish it from any
// queue.
const otherQueues = "_other"

// queueCollector reads the figures of the queues at each scrape. It always returns the sums over
// all queues. It returns the figures of each queue only if tenants is true, because their labels
// name tenants and queues.
type queueCollector struct {
	stats     func() ([]queue.Stats, error)
	nowMs     func() int64
	tenants   bool
	seriesMax int

	queues          *prometheus.Desc
	allTasks, tasks *prometheus.Desc // labels of allTasks: state; of tasks: tenant, queue and state
	all, single     []figure         // sums over all queues; figures with labels tenant and queue
}

type figure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(q *queue.Stats, nowMs int64) float64
}

func newQueueCollector(stats func() ([]queue.Stats, error), nowMs func() int64, tenants bool) *queueCollector {
	c := &queueCollector{
		stats: stats, nowMs: nowMs, tenants: tenants, seriesMax: queueSeriesMax,
		queues:   prometheus.NewDesc("prony_queues", "Existing queues.", nil, nil),
		allTasks: prometheus.NewDesc("prony_tasks", "Stored tasks, by state. Over all queues.", []string{"state"}, nil),
		tasks:    prometheus.NewDesc("prony_queue_tasks", "Tasks of a queue, by state.", []string{"tenant", "queue", "state"}, nil),
	}
	add := func(kind prometheus.ValueType, name, help string, value func(q *queue.Stats, nowMs int64) float64) {
		c.single = append(c.single, figure{prometheus.NewDesc("prony_queue_"+name, help, []string{"tenant", "queue"}, nil), kind, value})
		c.all = append(c.all, figure{prometheus.NewDesc("prony_"+name, help+" Over all queues.", nil, nil), kind, value})
	}
	add(prometheus.CounterValue, "enqueued_total", "Tasks ever enqueued.", func(q *queue.Stats, _ int64) float64 { return float64(q.Enqueued) })
	add(prometheus.CounterValue, "completed_total", "Tasks ever completed.", func(q *queue.Stats, _ int64) float64 { return float64(q.Completed) })
	add(prometheus.CounterValue, "removed_total", "Tasks ever purged or cancelled.", func(q *queue.Stats, _ int64) float64 { return float64(q.Removed) })
	add(prometheus.GaugeValue, "payload_bytes", "Payload bytes of the stored tasks.", func(q *queue.Stats, _ int64) float64 { return float64(q.Bytes) })
	add(prometheus.GaugeValue, "oldest_ready_seconds", "Time since the oldest ready task became ready; 0 without a ready task.",
		func(q *queue.Stats, nowMs int64) float64 { return float64(max(0, nowMs-q.ReadySinceMs)) / 1_000 })
	return c
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.queues
	out <- c.allTasks
	for _, f := range c.all {
		out <- f.desc
	}
	if !c.tenants {
		return
	}
	out <- c.tasks
	for _, f := range c.single {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	stats, err := c.stats()
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.queues, err)
		return
	}
	nowMs := c.nowMs()
	all := noQueues("")
	for i := range stats {
		all.Add(&stats[i])
	}
	out <- prometheus.MustNewConstMetric(c.queues, prometheus.GaugeValue, float64(len(stats)))
	collect(out, &all, nowMs, c.allTasks, c.all)
	if !c.tenants {
		return
	}
	for _, q := range largest(stats, c.seriesMax) {
		collect(out, &q, nowMs, c.tasks, c.single, q.Tenant, q.Name)
	}
}

// collect sends the figures of q with the given labels. The descriptor tasks has the additional
// label state.
func collect(out chan<- prometheus.Metric, q *queue.Stats, nowMs int64, tasks *prometheus.Desc, figures []figure, labels ...string) {
	for _, in := range []struct {
		state string
		tasks uint64
	}{{"ready", q.Ready}, {"delayed", q.Delayed}, {"leased", q.Leased}, {"dead", q.Dead}} {
		out <- prometheus.MustNewConstMetric(tasks, prometheus.GaugeValue, float64(in.tasks), append(slices.Clip(labels), in.state)...)
	}
	for _, f := range figures {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(q, nowMs), labels...)
	}
}

func depth(q *queue.Stats) uint64 { return q.Ready + q.Delayed + q.Leased + q.Dead }

// largest returns the n queues with the most tasks. If there are more queues, the sum of the others
// follows. largest reorders stats.
func largest(stats []queue.Stats, n int) []queue.Stats {
	if len(stats) <= n {
		return stats
	}
	slices.SortFunc(stats, func(a, b queue.Stats) int {
		return cmp.Or(cmp.Compare(depth(&b), depth(&a)), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	other := noQueues(otherQueues)
	for i := range stats[n:] {
		other.Add(&stats[n+i])
	}
	return append(stats[:n:n], other)
}

// noQueues returns the sum over an empty list of queues.
func noQueues(name string) queue.Stats { return queue.Stats{Name: name, ReadySinceMs: math.MaxInt64} }
