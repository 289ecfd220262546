// Package metrics contains the Prometheus collectors and series that a node offers at /metrics.
//
// New registers the series that the node's components update. These are series of calls
// (Interceptors, RESTCall), and of the shards' commits (Commits), turns (Turns), stages (Stages)
// and windows of loss (Unsynced). Watch and WatchCluster register series that are read at each
// scrape, through functions that the node provides; this package does not depend on the node. Page
// serves the scrapes.
//
// Series of queues are sums over all shards. Series of shards have the label shard. All functions
// that update series are safe for concurrent use. Watch and WatchCluster must be called at most
// once, before the first scrape. The dashboard engine/deploy/grafana/queued.json shows every series
// except those of single queues.
package metrics

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/version"
)

// Metrics are the metrics of one node.
type Metrics struct {
	registry       *prometheus.Registry
	calls          *callMetrics
	commitSeconds  *prometheus.HistogramVec // label: shard
	commitCommands *prometheus.HistogramVec // label: shard
	stages         *stageCollector
	unsynced       *unsyncedMetrics
	turns          *turnMetrics
	raft           *raftMetrics
}

// New returns the metrics of a node with the given number of shards.
func New(shards int) *Metrics {
	stages := newStageCollector(shards)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    newCallMetrics(&stages.before),
		commitSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_seconds", Help: "Time from the submission of a commit until it was durable.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 2, 18),
		}, []string{"shard"}),
		commitCommands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_commands", Help: "Commands decided in one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14),
		}, []string{"shard"}),
		stages: stages, unsynced: newUnsyncedMetrics(shards),
		turns: newTurnMetrics(shards),
		raft:  newRaftMetrics(),
	}
	m.registry.MustRegister(m.stages, m.commitSeconds, m.commitCommands, buildInfo(),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(runtimeMetrics...)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.calls.collectors()...)
	m.registry.MustRegister(m.turns.collectors()...)
	m.registry.MustRegister(m.unsynced.collectors()...)
	return m
}

// runtimeMetrics are additional series of the Go runtime. They report the number of garbage
// collections, and how long these stopped all goroutines.
var runtimeMetrics = []collectors.GoRuntimeMetricsRule{
	{Matcher: regexp.MustCompile(`^/gc/cycles/total:`)}, {Matcher: regexp.MustCompile(`^/sched/pauses/total/gc:`)},
}

// scrapesMax is the maximum number of concurrent scrapes.
const scrapesMax = 8

// Page returns a handler that serves the scrapes. A scrape omits series that cannot be read, such
// as the series of a failed shard.
func (m *Metrics) Page() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesMax})
}

func buildInfo() prometheus.Collector {
	build := version.Of()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "prony_build_info", Help: "Always 1; the labels identify the running build.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": cmp.Or(build.Commit, "unknown"), "go_version": build.Go},
	}, func() float64 { return 1 })
}

// Commits returns the function for shard.Options.Observe of shard i.
func (m *Metrics) Commits(i int) func(shard.CommitStats) {
	label := strconv.Itoa(i)
	seconds, commands := m.commitSeconds.WithLabelValues(label), m.commitCommands.WithLabelValues(label)
	return func(s shard.CommitStats) {
		seconds.Observe(s.Wait.Seconds())
		commands.Observe(float64(s.Commands))
	}
}

// Turns returns the function for shard.Options.Turned of shard i. The function neither allocates
// nor locks, because the deciding goroutine calls it at the end of each turn.
func (m *Metrics) Turns(i int) func(shard.TurnStats) { return m.turns.observer(i) }

// Stages returns the value for shard.Options.Stages of shard i. The same value is used in all
// tenures of this node.
func (m *Metrics) Stages(i int) *stages.Times { return &m.stages.of[i] }

// Unsynced returns one window of loss for each shard. A window is in use if the shard's log is
// opened with it and commits do not wait for their fsync.
func (m *Metrics) Unsynced() unsynced.Windows { return m.unsynced.windows }

// RaftAppended records the duration of a write to this node's Raft log.
func (m *Metrics) RaftAppended(took time.Duration) { m.raft.appendSeconds.Observe(took.Seconds()) }

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
