package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/rpc/route"
)

// ClusterSources are the additional sources that a scrape of a cluster node reads.
type ClusterSources struct {
	Self     string
	Replicas []*replica.Replica // one per shard
	// Skews returns the clock skew of each node that answers, by node.
	Skews func() map[string]route.ClockSkew
	// MayLead reports whether this node's clock allows it to lead.
	MayLead func() bool
	// CertificateEnd returns the expiry of the certificate that this node presents to other nodes.
	CertificateEnd func() time.Time
	// PeersRefused returns the number of refused connections between nodes. LogSyncs returns the
	// number of fsyncs of the Raft log.
	PeersRefused, LogSyncs func() uint64
}

// raftMetrics are the additional histograms of a cluster node. WatchCluster registers them.
type raftMetrics struct {
	appendSeconds prometheus.Histogram
	commitSeconds *prometheus.HistogramVec // label: shard
}

func newRaftMetrics() *raftMetrics {
	buckets := prometheus.ExponentialBuckets(10e-6, 2, 18)
	return &raftMetrics{
		appendSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "prony_raft_append_seconds", Help: "Time to write entries to this node's log with the configured durability.", Buckets: buckets,
		}),
		commitSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_raft_commit_seconds", Help: "Time from the proposal of an entry until it was applied, on the leader.", Buckets: buckets,
		}, []string{"shard"}),
	}
}

// WatchCluster registers the series of a cluster node, and observes the commits of the replicas.
func (m *Metrics) WatchCluster(s ClusterSources) {
	m.registry.MustRegister(m.raft.appendSeconds, m.raft.commitSeconds, newSkewCollector(s.Skews))
	m.gauge("prony_clock_may_lead", "1 if this node's clock allows it to lead, 0 otherwise.", nil, func() float64 { return yes(s.MayLead()) })
	m.watchCertificate("nodes", s.CertificateEnd)
	m.counter("prony_raft_peers_handshakes_refused_total", "Connections between nodes that this node refused.", nil, s.PeersRefused)
	m.counter("prony_raft_log_fsyncs_total", "Fsyncs of the log that all groups of this node share.", nil, s.LogSyncs)
	for i, r := range s.Replicas {
		m.watchReplica(i, r, s.Self)
		m.observeCommits(i, r)
	}
}

func (m *Metrics) watchReplica(i int, r *replica.Replica, self string) {
	counter := func(name, help string, value func(replica.Counters) uint64) {
		m.counter(name, help, shardLabel(i), func() uint64 { return value(r.Counters()) })
	}
	counter("prony_raft_entries_total", "Entries of the log applied to the store.", func(c replica.Counters) uint64 { return c.Entries })
	counter("prony_raft_entry_bytes_total", "Bytes of these entries.", func(c replica.Counters) uint64 { return c.EntryBytes })
	counter("prony_raft_elections_total", "How often this node became the leader.", func(c replica.Counters) uint64 { return c.Tenures })
	counter("prony_raft_snapshots_total", "Snapshots taken, after which the log was cut.", func(c replica.Counters) uint64 { return c.Snapshots })
	counter("prony_raft_snapshots_installed_total", "Snapshots received from a leader.", func(c replica.Counters) uint64 { return c.Installed })
	m.gauge("prony_raft_store_damaged", "1 if this node found damage in its store while sending it, 0 otherwise.", shardLabel(i),
		func() float64 { return yes(r.Damage() != nil) })
	m.gauge("prony_raft_is_leader", "1 if this node leads the shard, 0 otherwise.", shardLabel(i), func() float64 { return yes(r.Leader() == self) })
	m.gauge("prony_raft_term", "The group's term.", shardLabel(i), func() float64 { return float64(r.Term()) })
}

func (m *Metrics) observeCommits(i int, r *replica.Replica) {
	seconds, times := m.raft.commitSeconds.WithLabelValues(strconv.Itoa(i)), m.Stages(i)
	r.OnCommit(func(whole, applying time.Duration) {
		seconds.Observe(whole.Seconds())
		times.Observe(stages.Timed{Stage: stages.Replicate, Took: whole - applying}, stages.Timed{Stage: stages.Apply, Took: applying})
	})
}

type skewCollector struct {
	skews         func() map[string]route.ClockSkew
	ahead, errMax *prometheus.Desc
}

func newSkewCollector(skews func() map[string]route.ClockSkew) *skewCollector {
	return &skewCollector{
		skews:  skews,
		ahead:  prometheus.NewDesc("prony_clock_skew_seconds", "How far the clock of another node is ahead of this one's; absent while it does not answer.", []string{"node"}, nil),
		errMax: prometheus.NewDesc("prony_clock_skew_error_seconds", "Bound of the error of prony_clock_skew_seconds.", []string{"node"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *skewCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.ahead
	out <- c.errMax
}

// Collect implements prometheus.Collector.
func (c *skewCollector) Collect(out chan<- prometheus.Metric) {
	for id, s := range c.skews() {
		out <- prometheus.MustNewConstMetric(c.ahead, prometheus.GaugeValue, s.Ahead.Seconds(), id)
		out <- prometheus.MustNewConstMetric(c.errMax, prometheus.GaugeValue, s.Error.Seconds(), id)
	}
}
