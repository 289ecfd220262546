package node

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// metrics are what /metrics shows. Queue figures are asked of the shard at each scrape.
type metrics struct {
	registry       *prometheus.Registry
	commitSeconds  prometheus.Histogram
	commitCommands prometheus.Histogram
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "prony_commit_seconds", Help: "Time from the submission of a commit until it was durable.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 2, 18),
		}),
		commitCommands: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "prony_commit_commands", Help: "Commands decided in one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14),
		}),
	}
	m.registry.MustRegister(m.commitSeconds, m.commitCommands,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) commit(s shard.CommitStats) {
	m.commitSeconds.Observe(s.Wait.Seconds())
	m.commitCommands.Observe(float64(s.Commands))
}

func (m *metrics) watch(s *shard.Shard, store *storage.Store) {
	counter := func(name, help string, value func(storage.Counters) uint64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value(store.Counters())) }))
	}
	counter("prony_storage_sets_total", "Keys set in the store.", func(c storage.Counters) uint64 { return c.Sets })
	counter("prony_storage_set_bytes_total", "Bytes of keys and values set in the store.", func(c storage.Counters) uint64 { return c.SetBytes })
	counter("prony_storage_deletes_total", "Keys deleted from the store.", func(c storage.Counters) uint64 { return c.Deletes })
	counter("prony_storage_gets_total", "Keys looked up in the store.", func(c storage.Counters) uint64 { return c.Gets })
	m.registry.MustRegister(&queueCollector{
		shard:     s,
		tasks:     prometheus.NewDesc("prony_queue_tasks", "Tasks that a queue holds, by state.", []string{"tenant", "queue", "state"}, nil),
		enqueued:  prometheus.NewDesc("prony_queue_enqueued_total", "Tasks ever enqueued.", []string{"tenant", "queue"}, nil),
		completed: prometheus.NewDesc("prony_queue_completed_total", "Tasks ever completed.", []string{"tenant", "queue"}, nil),
	})
}

type queueCollector struct {
	shard                      *shard.Shard
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
	err := c.shard.Stats(func(s []queue.Stats, err error) { done <- answer{s, err} })
	var a answer
	if err == nil {
		a = <-done // the shard answers everything it took, also when it stops
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
