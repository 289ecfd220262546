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
func registerMetrics(registry *k6api.Registry, samplesPerS float64) (*metrics, error) {
	m := &metrics{}
	for _, c := range []struct {
		name string
		into **k6api.Metric
	}{
		{"prony_cycles", &m.cycles},
		{"prony_refused", &m.refused},
		{"prony_failed_calls", &m.failedCalls},
		{"prony_lost", &m.lost},
		{"prony_duplicated", &m.duplicated},
		{"prony_corrupted", &m.corrupted},
		{"prony_misrouted", &m.misrouted},
		{"prony_unsent", &m.unsent},
	} {
		metric, err := registry.NewMetric(c.name, k6api.Counter)
		if err != nil {
			return nil, err
		}
		*c.into = metric
	}
	for _, t := range []struct {
		name string
		into *trend
	}{
		{"prony_cycle_duration", &m.cycle},
		{"prony_enqueue_duration", &m.enqueue},
		{"prony_settle_duration", &m.settle},
	} {
		metric, err := registry.NewMetric(t.name, k6api.Trend, k6api.Time)
		if err != nil {
			return nil, err
		}
		*t.into = trend{metric, &thinning{perS: samplesPerS}}
	}
	return m, nil
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
	r := recorder{metrics: p.metrics, out: out, tags: k6api.TagsAndMeta{Tags: p.root}}
	for _, c := range []struct {
		metric *k6api.Metric
		n      uint64
	}{
		{r.metrics.lost, b.Lost},
		{r.metrics.duplicated, b.Duplicated},
		{r.metrics.corrupted, b.Corrupted},
		{r.metrics.misrouted, b.Misrouted},
		{r.metrics.refused, 0},
		{r.metrics.failedCalls, 0},
	} {
		r.add(c.metric, p.root, float64(c.n))
	}
	if o.Open != nil {
		r.add(r.metrics.unsent, p.root, float64(o.Open.Unsent+o.Open.Dropped))
	}
	r.push()
}
