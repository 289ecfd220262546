package node

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// metrics are what /metrics shows. Queue figures are asked of the shards at each scrape,
// over all of them: the label shard stands where each shard has figures of its own.
type metrics struct {
	registry       *prometheus.Registry
	commitSeconds  *prometheus.HistogramVec
	commitCommands *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		commitSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_seconds", Help: "Time from the submission of a commit until it was durable.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 2, 18),
		}, []string{"shard"}),
		commitCommands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_commands", Help: "Commands decided in one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14),
		}, []string{"shard"}),
	}
	m.registry.MustRegister(m.commitSeconds, m.commitCommands,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// commits returns what observes the commits of a shard.
func (m *metrics) commits(i int) func(shard.CommitStats) {
	seconds := m.commitSeconds.WithLabelValues(strconv.Itoa(i))
	commands := m.commitCommands.WithLabelValues(strconv.Itoa(i))
	return func(s shard.CommitStats) {
		seconds.Observe(s.Wait.Seconds())
		commands.Observe(float64(s.Commands))
	}
}

func (m *metrics) watch(g *shard.Group, stores []*storage.Store) {
	counter := func(name, help string, value func(storage.Counters) uint64) {
		for i, store := range stores {
			m.registry.MustRegister(prometheus.NewCounterFunc(
				prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"shard": strconv.Itoa(i)}},
				func() float64 { return float64(value(store.Counters())) }))
		}
	}
	counter("prony_storage_sets_total", "Keys set in the store.", func(c storage.Counters) uint64 { return c.Sets })
	counter("prony_storage_set_bytes_total", "Bytes of keys and values set in the store.", func(c storage.Counters) uint64 { return c.SetBytes })
	counter("prony_storage_deletes_total", "Keys deleted from the store.", func(c storage.Counters) uint64 { return c.Deletes })
	counter("prony_storage_gets_total", "Keys looked up in the store.", func(c storage.Counters) uint64 { return c.Gets })
	m.registry.MustRegister(&queueCollector{
		shards:    g,
		tasks:     prometheus.NewDesc("prony_queue_tasks", "Tasks that a queue holds, by state.", []string{"tenant", "queue", "state"}, nil),
		enqueued:  prometheus.NewDesc("prony_queue_enqueued_total", "Tasks ever enqueued.", []string{"tenant", "queue"}, nil),
		completed: prometheus.NewDesc("prony_queue_completed_total", "Tasks ever completed.", []string{"tenant", "queue"}, nil),
	})
}

type queueCollector struct {
	shards                     *shard.Group
	tasks, enqueued, completed *prometheus.Desc
}

func (c *queueCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.tasks
	out <- c.enqueued
	out <- c.completed
}

func (c *queueCollector) Collect(out chan<- prometheus.Metric) {
	type answer struct {
		stats []queue.Stats
		err   error
	}
	done := make(chan answer, 1)
	err := c.shards.Stats(func(s []queue.Stats, err error) { done <- answer{s, err} })
	var a answer
	if err == nil {
		a = <-done // the shards answer everything they took, also when it stops
		err = a.err
	}
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.tasks, err)
		return
	}
	for _, q := range a.stats {
		gauge := func(state string, n uint64) {
			out <- prometheus.MustNewConstMetric(c.tasks, prometheus.GaugeValue, float64(n), q.Tenant, q.Name, state)
		}
		gauge("ready", q.Ready)
		gauge("delayed", q.Delayed)
		gauge("leased", q.Leased)
		gauge("dead", q.Dead)
		out <- prometheus.MustNewConstMetric(c.enqueued, prometheus.CounterValue, float64(q.Enqueued), q.Tenant, q.Name)
		out <- prometheus.MustNewConstMetric(c.completed, prometheus.CounterValue, float64(q.Completed), q.Tenant, q.Name)
	}
}
