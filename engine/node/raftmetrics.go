package node

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/replica"
)

// raftMetrics are what /metrics shows of a cluster's node.
type raftMetrics struct {
	appendSeconds prometheus.Histogram
	commitSeconds *prometheus.HistogramVec // shard
}

func newRaftMetrics() *raftMetrics {
	buckets := prometheus.ExponentialBuckets(10e-6, 2, 18)
	return &raftMetrics{
		appendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "prony_raft_append_seconds", Help: "Time to write entries to this node's log, as durably as the mode says.", Buckets: buckets,
		}),
		commitSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_raft_commit_seconds", Help: "Time from the proposal of an entry until it was applied, on the leader.", Buckets: buckets,
		}, []string{"shard"}),
	}
}

// watchCluster adds what is asked of the replicas at each scrape.
func (m *metrics) watchCluster(k *cluster) {
	m.registry.MustRegister(k.metrics.appendSeconds, k.metrics.commitSeconds, newClockCollector(k.clocks))
	for i, r := range k.replicas {
		labels := prometheus.Labels{"shard": strconv.Itoa(i)}
		counter := func(name, help string, value func(replica.Counters) uint64) {
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(value(r.Counters())) }))
		}
		counter("prony_raft_entries_total", "Entries of the log applied to the store.", func(c replica.Counters) uint64 { return c.Entries })
		counter("prony_raft_entry_bytes_total", "Bytes of these entries.", func(c replica.Counters) uint64 { return c.EntryBytes })
		counter("prony_raft_elections_total", "How often this node came to lead.", func(c replica.Counters) uint64 { return c.Tenures })
		counter("prony_raft_snapshots_total", "Snapshots taken, after which the log was cut.", func(c replica.Counters) uint64 { return c.Snapshots })
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "prony_raft_store_damaged", Help: "1 if this node found its store damaged when it was to send the store, 0 otherwise.", ConstLabels: labels,
		}, func() float64 {
			if r.Damage() != nil {
				return 1
			}
			return 0
		}))
		counter("prony_raft_snapshots_installed_total", "Snapshots received from a leader.", func(c replica.Counters) uint64 { return c.Installed })
		gauge := func(name, help string, value func() float64) {
			m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
		}
		gauge("prony_raft_is_leader", "1 when this node leads the shard, 0 otherwise.", func() float64 {
			if r.Leader() == k.Self() {
				return 1
			}
			return 0
		})
		gauge("prony_raft_term", "The group's term.", func() float64 { return float64(r.Term()) })
		k.observeCommits(i, r)
	}
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "prony_raft_peers_handshakes_refused_total", Help: "Connections between nodes that were refused, by this one.",
	}, func() float64 { return float64(k.mux.Counters().Refused) }))
}

// clockCollector shows how the other nodes' clocks differ from this one's.
type clockCollector struct {
	clocks             *clocks
	skew, wrong, leads *prometheus.Desc
}

func newClockCollector(c *clocks) *clockCollector {
	return &clockCollector{
		clocks: c,
		skew:   prometheus.NewDesc("prony_clock_skew_seconds", "How far the clock of another node is ahead of this one's; absent while it does not answer.", []string{"node"}, nil),
		wrong:  prometheus.NewDesc("prony_clock_skew_error_seconds", "The bound on the error of prony_clock_skew_seconds.", []string{"node"}, nil),
		leads:  prometheus.NewDesc("prony_clock_may_lead", "1 if this node's clock allows it to lead, 0 otherwise.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *clockCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.skew
	out <- c.wrong
	out <- c.leads
}

// Collect implements prometheus.Collector.
func (c *clockCollector) Collect(out chan<- prometheus.Metric) {
	skews, _ := c.clocks.skews()
	for id, s := range skews {
		out <- prometheus.MustNewConstMetric(c.skew, prometheus.GaugeValue, s.ahead.Seconds(), id)
		out <- prometheus.MustNewConstMetric(c.wrong, prometheus.GaugeValue, s.wrong.Seconds(), id)
	}
	may := 1.0
	if c.clocks.Refused() != nil {
		may = 0
	}
	out <- prometheus.MustNewConstMetric(c.leads, prometheus.GaugeValue, may)
}

func (k *cluster) observeCommits(i int, r *replica.Replica) {
	seconds := k.metrics.commitSeconds.WithLabelValues(strconv.Itoa(i))
	times := k.node.metrics.stageTimes(i)
	r.OnCommit(func(whole, applying time.Duration) {
		seconds.Observe(whole.Seconds())
		times.Observe(stages.Timed{Stage: stages.Replicate, Took: whole - applying}, stages.Timed{Stage: stages.Apply, Took: applying})
	})
}
