package k6

import (
	"time"

	"github.com/pronybench/prony/harness/k6/k6api"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// metrics are the extension's metrics, for thresholds of scripts.
type metrics struct {
	cycles, refused, failedCalls *k6api.Metric
	cycle, enqueue, settle       trend

	// Sampled once, at the test's end.
	lost, duplicated, corrupted, misrouted, unsent *k6api.Metric
}

// trend is a metric of times in milliseconds.
type trend struct {
	*k6api.Metric
	thinning *thinning
}

// registerMetrics registers the metrics. Trends have about samplesPerS samples a second, or all
// samples if samplesPerS is 0.
func registerMetrics(registry *k6api.Registry, samplesPerS float64) *metrics {
	counter := func(name string) *k6api.Metric { return registry.MustNewMetric(name, k6api.Counter) }
	times := func(name string) trend {
		return trend{registry.MustNewMetric(name, k6api.Trend, k6api.Time), &thinning{perS: samplesPerS}}
	}
	return &metrics{
		cycles: counter("prony_cycles"), refused: counter("prony_refused"), failedCalls: counter("prony_failed_calls"),
		cycle: times("prony_cycle_duration"), enqueue: times("prony_enqueue_duration"), settle: times("prony_settle_duration"),
		lost: counter("prony_lost"), duplicated: counter("prony_duplicated"), corrupted: counter("prony_corrupted"),
		misrouted: counter("prony_misrouted"), unsent: counter("prony_unsent"),
	}
}

// recorder collects the samples of one call. It is created on the event loop and used by the call.
type recorder struct {
	metrics *metrics
	out     chan<- k6api.SampleContainer
	tags    k6api.TagsAndMeta
	at      time.Time
	samples k6api.Samples
}

// recorder returns a recorder with the VU's current tags.
func (i *instance) recorder() *recorder {
	state := i.vu.State()
	i.process.mu.Lock()
	i.process.samples = state.Samples
	i.process.mu.Unlock()
	return &recorder{metrics: i.process.metrics, out: state.Samples, tags: state.Tags.GetCurrentValues()}
}

// of returns the tags for a queue of a tenant.
func (r *recorder) of(tenant, queue string) *k6api.TagSet {
	return r.tags.Tags.With("queue", queue).With("tenant", tenant)
}

func (r *recorder) add(metric *k6api.Metric, tags *k6api.TagSet, value float64) {
	if r.at.IsZero() {
		r.at = time.Now()
	}
	r.samples = append(r.samples, k6api.Sample{
		TimeSeries: k6api.TimeSeries{Metric: metric, Tags: tags}, Time: r.at, Value: value, Metadata: r.tags.Metadata,
	})
}

// count adds n to a counter, unless n is 0.
func (r *recorder) count(metric *k6api.Metric, tags *k6api.TagSet, n int) {
	if n > 0 {
		r.add(metric, tags, float64(n))
	}
}

// times adds one sample for each group of tasks with the same latency. The trend's thinning drops
// some of them.
func (r *recorder) times(t trend, tags *k6api.TagSet, latencies ...load.Latency) {
	for _, l := range latencies {
		value := float64(l.NS) / 1e6
		if r.at.IsZero() {
			r.at = time.Now()
		}
		if t.thinning.draws(r.at, value) {
			r.add(t.Metric, tags, value)
		}
	}
}

// push sends the samples to k6. Call it before the call's promise is settled, while k6 still
// accepts samples.
func (r *recorder) push() {
	if len(r.samples) > 0 {
		r.out <- r.samples
	}
}

// sampleBalance adds the samples of the test's end. It includes zeros, because a threshold on a
// metric without samples is not evaluated and passes.
func (p *process) sampleBalance(o *load.Outcome, b result.Ledger) {
	p.mu.Lock()
	out := p.samples
	p.mu.Unlock()
	if out == nil {
		return
	}
	m, r := p.metrics, recorder{metrics: p.metrics, out: out, tags: k6api.TagsAndMeta{Tags: p.root}}
	for metric, n := range map[*k6api.Metric]uint64{
		m.lost: b.Lost, m.duplicated: b.Duplicated, m.corrupted: b.Corrupted, m.misrouted: b.Misrouted, m.refused: 0, m.failedCalls: 0,
	} {
		r.add(metric, p.root, float64(n))
	}
	if o.Open != nil {
		r.add(m.unsent, p.root, float64(o.Open.Unsent+o.Open.Dropped))
	}
	r.push()
}
