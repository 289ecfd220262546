package gate

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// fewSamples: a percentile of fewer than so many times the samples that it takes at least has few in its tail, which is said.
const fewSamples = 10

// samples are those that a percentile was found from. The zero value says that they are not known, or that the figure is no percentile.
type samples struct {
	known       bool
	least, made int
}

// samplesOf returns the samples of a percentile: each latency family counts its own.
func samplesOf(spec result.Spec, metrics map[string]result.Metric) samples {
	least := spec.SamplesLeast()
	count, has := metrics[spec.Family+"_n"]
	if least == 0 || !has || !finite(count.Median) {
		return samples{}
	}
	return samples{known: true, least: least, made: int(count.Median)}
}

// tooFew reports whether the percentile is no more than the largest sample.
func (s samples) tooFew() bool { return s.known && s.made < s.least }

func (s samples) text() string { return render.Plural(s.made, "sample") }

// caution follows the sentence of a limit whose figure has few samples.
func (s samples) caution() string {
	if !s.known || s.made >= fewSamples*s.least {
		return ""
	}
	return ", of " + s.text()
}
