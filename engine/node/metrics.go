package node

import (
	"fmt"
	"net/http"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rest"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// metrics are what /metrics shows. Figures of queues are over all shards; where each shard has figures of its own, they
// have the label shard.
type metrics struct {
	registry       *prometheus.Registry
	calls          *callMetrics
	commitSeconds  *prometheus.HistogramVec // shard
	commitCommands *prometheus.HistogramVec // shard
	stages         *stageCollector
	turns          *turnMetrics
}

func newMetrics(shards int) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls:    newCallMetrics(),
		commitSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_seconds", Help: "Time from the submission of a commit until it was durable.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 2, 18),
		}, []string{"shard"}),
		commitCommands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_commit_commands", Help: "Commands decided in one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 14),
		}, []string{"shard"}),
		stages: newStageCollector(),
		turns:  newTurnMetrics(shards),
	}
	m.registry.MustRegister(m.stages, m.commitSeconds, m.commitCommands, buildInfo(),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(runtimeMetrics...)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.calls.collectors()...)
	m.registry.MustRegister(m.turns.collectors()...)
	return m
}

// runtimeMetrics are what the runtime shows beside its usual figures: how often it collected garbage, and for how long it
// stopped all goroutines for that.
var runtimeMetrics = []collectors.GoRuntimeMetricsRule{
	{Matcher: regexp.MustCompile(`^/gc/cycles/total:`)}, {Matcher: regexp.MustCompile(`^/sched/pauses/total/gc:`)},
}

// scrapesMax is how many scrapes may be under way.
const scrapesMax = 8

// page answers scrapes. What can't be had, a failed shard's figures, is left out of it.
func (m *metrics) page() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesMax})
}

// build returns what runs.
func build() (version, revision string) {
	version, revision = "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return version, revision
}

// buildInfo says what runs, in labels.
func buildInfo() prometheus.Collector {
	version, revision := build()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "prony_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}

// commits returns what observes the commits of a shard.
func (m *metrics) commits(i int) func(shard.CommitStats) {
	label := strconv.Itoa(i)
	seconds, commands := m.commitSeconds.WithLabelValues(label), m.commitCommands.WithLabelValues(label)
	return func(s shard.CommitStats) {
		seconds.Observe(s.Wait.Seconds())
		commands.Observe(float64(s.Commands))
	}
}

// restCall observes a call over REST.
func (m *metrics) restCall(c rest.Call) { m.calls.rest(c) }

// interceptors observe the calls over gRPC.
func (m *metrics) interceptors() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(m.calls.unary), grpc.ChainStreamInterceptor(m.calls.stream)}
}

// watch adds what is asked of the node at each scrape. tenants shows the figures of each queue.
func (m *metrics) watch(n *Node, tenants bool) {
	m.registry.MustRegister(newQueueCollector(n.stats, n.shards.NowMs, tenants))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "prony_ready", Help: "1 when /readyz says ok, 0 otherwise."},
		func() float64 {
			if n.notReadyWhy() != "" {
				return 0
			}
			return 1
		}))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "prony_subscribers", Help: "Worker streams and claims that wait for tasks, at each shard that this node leads.",
	}, func() float64 { return float64(n.shards.Subscribers()) }))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "prony_clock_wall_ahead_seconds", Help: "How far the host's wall clock is ahead of the server's, which is slewed towards it.",
	}, func() float64 { return n.clock.Offset().Seconds() }))
	m.watchMemory(n)
	counter := func(name, help string, value func(storage.Counters) uint64) {
		for i := range n.shards.Len() {
			m.registry.MustRegister(prometheus.NewCounterFunc(
				prometheus.CounterOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{"shard": strconv.Itoa(i)}},
				func() float64 { return float64(value(n.store(i).Counters())) }))
		}
	}
	counter("prony_storage_sets_total", "Keys set in the store.", func(c storage.Counters) uint64 { return c.Sets })
	counter("prony_storage_set_bytes_total", "Bytes of keys and values set in the store.", func(c storage.Counters) uint64 { return c.SetBytes })
	counter("prony_storage_deletes_total", "Keys deleted from the store.", func(c storage.Counters) uint64 { return c.Deletes })
	counter("prony_storage_gets_total", "Keys looked up in the store.", func(c storage.Counters) uint64 { return c.Gets })
	counter("prony_storage_scanned_keys_total", "Keys that scans of the store stepped over, deleted ones included.",
		func(c storage.Counters) uint64 { return c.Scanned })
	counter("prony_storage_task_bytes_total", "Bytes of tasks read from the store.", func(c storage.Counters) uint64 { return c.TaskBytes })
	counter("prony_storage_payload_bytes_total", "Bytes of payloads copied from the store into memory.",
		func(c storage.Counters) uint64 { return c.PayloadBytes })
	counter("prony_storage_fsyncs_total", "Fsyncs of the store's files.", func(c storage.Counters) uint64 { return c.Fsyncs })
	counter("prony_storage_fsync_microseconds_total", "Time that fsyncs of the store's files took.",
		func(c storage.Counters) uint64 { return uint64(c.FsyncTime.Microseconds()) })
}

// statsMax is how long a scrape waits for the shards' figures: less than the scraper waits for the scrape.
const statsMax = 5 * time.Second

// stats asks the shards for their queues' figures. One that is stalled does not hold a scrape up for ever.
func (n *Node) stats() ([]queue.Stats, error) {
	type answer struct {
		stats []queue.Stats
		err   error
	}
	done := make(chan answer, 1)
	if err := n.shards.Stats(func(s []queue.Stats, err error) { done <- answer{s, err} }); err != nil {
		return nil, fmt.Errorf("ask the shards for their figures: %w", err)
	}
	over := time.NewTimer(n.statsMax)
	defer over.Stop()
	select {
	case a := <-done:
		return a.stats, a.err
	case <-over.C:
		return nil, fmt.Errorf("ask the shards for their figures: no answer within %v", n.statsMax)
	}
}
