package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Sources are the sources that a scrape of any node reads.
type Sources struct {
	// Queues returns the figures of all queues. NowMs returns the time at which they are valid, in
	// Unix milliseconds.
	Queues func() ([]queue.Stats, error)
	NowMs  func() int64
	// Tenants is true if each queue has its own series, whose labels name tenants and queues.
	Tenants bool
	// NotReady returns the reason why the node is not ready, or "".
	NotReady    func() string
	Subscribers func() int64
	// ClockAhead returns the time of the host's wall clock minus the time of the server's clock.
	ClockAhead func() time.Duration
	// CertificateEnd returns the expiry of the certificate of the listeners. It is nil without TLS.
	CertificateEnd func() time.Time
	// MemoryMax limits the resident memory of the process in bytes; 0 means no limit.
	MemoryMax int64
	Gate      func() memory.GateCounters
	// Shards is the number of shards, and Store returns the counters of a shard's store.
	Shards int
	Store  func(shard int) storage.Counters
	// Pebble returns the figures of each shard's store, or nil while stores are being closed or
	// replaced.
	Pebble func() []storage.PebbleMetrics
	Space  *disk.Space
	Stalls *stalls.Log
}

// Watch registers the series that are read from s at each scrape.
func (m *Metrics) Watch(s Sources) {
	m.registry.MustRegister(newQueueCollector(s.Queues, s.NowMs, s.Tenants), newPebbleCollector(s.Pebble))
	m.gauge("prony_ready", "1 if /readyz answers ok, 0 otherwise.", nil, func() float64 { return yes(s.NotReady() == "") })
	m.gauge("prony_subscribers", "Worker streams and claims that wait for tasks, at each shard that this node leads.", nil,
		func() float64 { return float64(s.Subscribers()) })
	m.gauge("prony_clock_wall_ahead_seconds", "How far the host's wall clock is ahead of the server's, which is slewed towards it.", nil,
		func() float64 { return s.ClockAhead().Seconds() })
	m.watchCertificate("clients", s.CertificateEnd)
	m.watchMemory(s.MemoryMax, s.Gate)
	m.watchSpace(s.Space)
	m.watchStalls(s.Stalls)
	for i := range s.Shards {
		m.watchStore(i, s.Store)
	}
}

// watchCertificate registers the expiry of a certificate that this node presents to clients or to
// other nodes.
func (m *Metrics) watchCertificate(to string, end func() time.Time) {
	if end != nil {
		m.gauge("prony_certificate_expiry_timestamp_seconds", "Expiry of the certificate that this node shows to clients or to other nodes, in seconds since 1970.",
			prometheus.Labels{"shown_to": to}, func() float64 { return float64(end().Unix()) })
	}
}

func (m *Metrics) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

func (m *Metrics) counter(name, help string, labels prometheus.Labels, value func() uint64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(value()) }))
}

func (m *Metrics) seconds(name, help string, labels prometheus.Labels, value func() time.Duration) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
		func() float64 { return value().Seconds() }))
}

func shardLabel(i int) prometheus.Labels { return prometheus.Labels{"shard": strconv.Itoa(i)} }

func (m *Metrics) watchMemory(limit int64, gate func() memory.GateCounters) {
	m.gauge("prony_memory_limit_bytes", "Bound of the process's resident memory; 0 if the memory is not bounded.", nil,
		func() float64 { return float64(limit) })
	m.counter("prony_memory_pauses_total", "Times that input waited near the memory limit until garbage was collected.", nil,
		func() uint64 { return gate().Pauses })
	m.counter("prony_memory_cuts_total", "Connections cut near the memory limit, because they sent or held the most.", nil,
		func() uint64 { return gate().Cuts })
	m.counter("prony_memory_refusals_total", "Calls refused because the process was near its memory limit.", nil,
		func() uint64 { return gate().Refusals })
}

func (m *Metrics) watchSpace(space *disk.Space) {
	bytes := func(name, help string, labels prometheus.Labels, value func(disk.SpaceUsage) uint64) {
		m.gauge(name, help, labels, func() float64 { return float64(value(space.Usage())) })
	}
	bytes("prony_disk_size_bytes", "Size of the data folder's file system; 0 if unknown.", nil, func(u disk.SpaceUsage) uint64 { return u.Total })
	bytes("prony_disk_free_bytes", "Bytes of the data folder's file system that the server may still use.", nil, func(u disk.SpaceUsage) uint64 { return u.Free })
	bytes("prony_disk_available_bytes", "Free bytes minus those that the stores need to flush their memory. They are compared with the marks.", nil,
		func(u disk.SpaceUsage) uint64 { return u.Available })
	const markHelp = "Marks of the available bytes: below low, commands that grow the store are refused; below critical, every change is."
	low, critical := prometheus.Labels{"mark": "low"}, prometheus.Labels{"mark": "critical"}
	bytes("prony_disk_mark_bytes", markHelp, low, func(u disk.SpaceUsage) uint64 { return u.Low })
	bytes("prony_disk_mark_bytes", markHelp, critical, func(u disk.SpaceUsage) uint64 { return u.Critical })
	m.gauge("prony_disk_state", "What the disk's free space allows: 0 everything, 1 nothing that grows the store, 2 no changes, 3 no changes of other nodes either.", nil,
		func() float64 { return float64(space.State()) })
	const refusalsHelp = "Commands refused for lack of disk space, by mark."
	m.counter("prony_disk_refusals_total", refusalsHelp, low, func() uint64 { refused, _ := space.Refusals(); return refused })
	m.counter("prony_disk_refusals_total", refusalsHelp, critical, func() uint64 { _, refused := space.Refusals(); return refused })
}

func (m *Metrics) watchStalls(l *stalls.Log) {
	for _, cause := range stalls.Causes() {
		label := prometheus.Labels{"cause": cause.String()}
		m.counter("prony_slow_commits_total", "Commits that took more than 5 ms, by the cause of the largest part of their time.", label,
			func() uint64 { n, _ := l.Totals(cause); return n })
		m.seconds("prony_slow_commit_seconds_total", "Time of commits that took more than 5 ms, divided among the causes.", label,
			func() time.Duration { _, took := l.Totals(cause); return took })
	}
}
