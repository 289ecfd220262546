// Package jobsprom exports Prometheus metrics of the workers of package jobs:
//
//	metrics := jobsprom.New(mux)
//	prometheus.MustRegister(metrics)
//	worker := jobs.Worker{
//		Client: c, Mux: mux,
//		Middleware: []jobs.Middleware{metrics.Middleware}, OnFinish: metrics.OnFinish,
//	}
//
// The metrics are, with the kind of the jobs as a label:
//
//	prony_jobs_started_total          attempts whose handler was called
//	prony_jobs_finished_total         attempts that ended, by outcome: the values of jobs.Outcome
//	prony_jobs_running                handlers that run
//	prony_job_duration_seconds        the time of an attempt, a histogram
//
// An attempt that Worker.Run abandons at a shutdown is started and never finished.
package jobsprom

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

// otherKinds is the label of all kinds without a handler. A producer chooses the kind of a task, so
// these kinds must not have their own series.
const otherKinds = "_other"

// outcomes are the values of the label outcome.
var outcomes = []jobs.Outcome{jobs.Completed, jobs.Failed, jobs.Dead, jobs.Snoozed, jobs.Released, jobs.Cancelled, jobs.Lost}

// durations are the upper bounds of the buckets of the classic histogram, in seconds.
var durations = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}

const (
	// nativeFactor and nativeBuckets bound the native histogram, which a server scrapes instead of the
	// classic one if it supports it: the growth of the buckets, and their number.
	nativeFactor  = 1.1
	nativeBuckets = 100
	nativeReset   = time.Hour
)

// Metrics is a collector of the metrics of one or more workers. Register it once.
type Metrics struct {
	kinds    map[string]bool
	started  *prometheus.CounterVec
	finished *prometheus.CounterVec
	running  *prometheus.GaugeVec
	seconds  *prometheus.HistogramVec
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns the metrics of workers with the mux. Call it when all handlers are registered: the
// kinds of the mux have their own series, and all other kinds have the common label "_other".
func New(mux *jobs.Mux) *Metrics {
	m := &Metrics{
		kinds: map[string]bool{},
		started: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prony_jobs_started_total", Help: "Attempts whose handler was called.",
		}, []string{"kind"}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prony_jobs_finished_total", Help: "Attempts that ended, by outcome.",
		}, []string{"kind", "outcome"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "prony_jobs_running", Help: "Handlers that run.",
		}, []string{"kind"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_job_duration_seconds", Help: "Time of an attempt.", Buckets: durations,
			NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeReset,
		}, []string{"kind"}),
	}
	for _, kind := range mux.Kinds() {
		m.kinds[kind] = true
		// A rate needs the series before its first event.
		m.started.WithLabelValues(kind)
		m.running.WithLabelValues(kind)
		m.seconds.WithLabelValues(kind)
		for _, o := range outcomes {
			m.finished.WithLabelValues(kind, string(o))
		}
	}
	return m
}

func (m *Metrics) kind(t *queuepb.Task) string {
	if kind := jobs.KindOf(t); m.kinds[kind] {
		return kind
	}
	return otherKinds
}

// Middleware counts the handlers that start and run. Pass it to Worker.Middleware.
func (m *Metrics) Middleware(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, t *queuepb.Task) error {
		kind := m.kind(t)
		m.started.WithLabelValues(kind).Inc()
		running := m.running.WithLabelValues(kind)
		running.Inc()
		defer running.Dec()
		return next(ctx, t)
	}
}

// OnFinish counts an attempt that ended. Set Worker.OnFinish to it, or call it from there.
func (m *Metrics) OnFinish(f jobs.Finish) {
	kind := m.kind(f.Task)
	m.finished.WithLabelValues(kind, string(f.Outcome)).Inc()
	m.seconds.WithLabelValues(kind).Observe(f.Took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(out)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.started, m.finished, m.running, m.seconds}
}
