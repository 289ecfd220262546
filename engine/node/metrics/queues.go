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

	queues      *prometheus.Desc
	paused      *prometheus.Desc
	all, single figures // sums over all queues; figures with the labels tenant and queue
}

// figures are the series of a queue, or of the sum over all queues.
type figures struct {
	tasks  *prometheus.Desc // additional label: state
	died   *prometheus.Desc // additional label: reason
	others []figure
}

type figure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(q *queue.Stats, nowMs int64) float64
}

func newQueueCollector(stats func() ([]queue.Stats, error), nowMs func() int64, tenants bool) *queueCollector {
	c := &queueCollector{
		stats: stats, nowMs: nowMs, tenants: tenants, seriesMax: queueSeriesMax,
		queues: prometheus.NewDesc("prony_queues", "Existing queues.", nil, nil),
		paused: prometheus.NewDesc("prony_paused_queues", "Paused queues.", nil, nil),
	}
	const died = "dead_letters_total"
	const diedHelp = "Tasks that became dead letters, by reason, since this node began to lead their shards."
	c.all.tasks = prometheus.NewDesc("prony_tasks", "Stored tasks, by state. Over all queues.", []string{"state"}, nil)
	c.all.died = prometheus.NewDesc("prony_"+died, diedHelp+" Over all queues.", []string{"reason"}, nil)
	c.single.tasks = prometheus.NewDesc("prony_queue_tasks", "Tasks of a queue, by state.", []string{"tenant", "queue", "state"}, nil)
	c.single.died = prometheus.NewDesc("prony_queue_"+died, diedHelp, []string{"tenant", "queue", "reason"}, nil)
	single := func(kind prometheus.ValueType, name, help string, value func(q *queue.Stats, nowMs int64) float64) {
		c.single.others = append(c.single.others, figure{prometheus.NewDesc("prony_queue_"+name, help, []string{"tenant", "queue"}, nil), kind, value})
	}
	add := func(kind prometheus.ValueType, name, help string, value func(q *queue.Stats, nowMs int64) float64) {
		single(kind, name, help, value)
		c.all.others = append(c.all.others, figure{prometheus.NewDesc("prony_"+name, help+" Over all queues.", nil, nil), kind, value})
	}
	event := func(name, help string, of func(e *queue.Events) uint64) {
		add(prometheus.CounterValue, name, help+", since this node began to lead their shards.",
			func(q *queue.Stats, _ int64) float64 { return float64(of(&q.Events)) })
	}
	add(prometheus.CounterValue, "enqueued_total", "Tasks ever enqueued.", func(q *queue.Stats, _ int64) float64 { return float64(q.Enqueued) })
	add(prometheus.CounterValue, "completed_total", "Tasks ever completed.", func(q *queue.Stats, _ int64) float64 { return float64(q.Completed) })
	add(prometheus.CounterValue, "removed_total", "Tasks ever purged or cancelled.", func(q *queue.Stats, _ int64) float64 { return float64(q.Removed) })
	event("failed_attempts_total", "Attempts that workers reported as failed", func(e *queue.Events) uint64 { return e.FailedAttempts })
	event("expired_leases_total", "Leases that expired", func(e *queue.Events) uint64 { return e.ExpiredLeases })
	event("retries_total", "Tasks that returned for another attempt after a failed attempt or an expired lease", func(e *queue.Events) uint64 { return e.Retries })
	event("cancelled_total", "Tasks that were cancelled", func(e *queue.Events) uint64 { return e.Cancelled })
	single(prometheus.GaugeValue, "paused", "1 while the queue is paused.", func(q *queue.Stats, _ int64) float64 {
		if q.Paused {
			return 1
		}
		return 0
	})
	add(prometheus.GaugeValue, "parked_tasks", "Ready tasks that were passed over, because their groups are at their limit.",
		func(q *queue.Stats, _ int64) float64 { return float64(q.Parked) })
	add(prometheus.GaugeValue, "payload_bytes", "Payload bytes of the stored tasks.", func(q *queue.Stats, _ int64) float64 { return float64(q.Bytes) })
	add(prometheus.GaugeValue, "oldest_ready_seconds", "Time since the oldest ready task became ready; 0 without a ready task.",
		func(q *queue.Stats, nowMs int64) float64 { return float64(max(0, nowMs-q.ReadySinceMs)) / 1_000 })
	return c
}

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.queues
	out <- c.paused
	c.all.describe(out)
	if c.tenants {
		c.single.describe(out)
	}
}

func (fs *figures) describe(out chan<- *prometheus.Desc) {
	out <- fs.tasks
	out <- fs.died
	for _, f := range fs.others {
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
	all, paused := noQueues(""), 0
	for i := range stats {
		all.Add(&stats[i])
		if stats[i].Paused {
			paused++
		}
	}
	out <- prometheus.MustNewConstMetric(c.queues, prometheus.GaugeValue, float64(len(stats)))
	out <- prometheus.MustNewConstMetric(c.paused, prometheus.GaugeValue, float64(paused))
	c.all.collect(out, &all, nowMs)
	if !c.tenants {
		return
	}
	for _, q := range largest(stats, c.seriesMax) {
		c.single.collect(out, &q, nowMs, q.Tenant, q.Name)
	}
}

// deathReasons are the values of the label reason.
var deathReasons = map[queue.Reason]string{
	queue.AttemptsUsedUp: "attempts", queue.TimeToLiveOver: "expired", queue.FailedPermanently: "permanent",
	queue.DependencyDied: "dependency",
}

// collect sends the figures of q with the given labels.
func (fs *figures) collect(out chan<- prometheus.Metric, q *queue.Stats, nowMs int64, labels ...string) {
	for _, in := range []struct {
		state string
		tasks uint64
	}{{"ready", q.Ready}, {"delayed", q.Delayed}, {"waiting", q.Waiting}, {"leased", q.Leased}, {"dead", q.Dead}} {
		out <- prometheus.MustNewConstMetric(fs.tasks, prometheus.GaugeValue, float64(in.tasks), append(slices.Clip(labels), in.state)...)
	}
	for reason, name := range deathReasons {
		out <- prometheus.MustNewConstMetric(fs.died, prometheus.CounterValue, float64(q.Events.Died[reason]), append(slices.Clip(labels), name)...)
	}
	for _, f := range fs.others {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(q, nowMs), labels...)
	}
}

func depth(q *queue.Stats) uint64 { return q.Ready + q.Delayed + q.Waiting + q.Leased + q.Dead }

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
