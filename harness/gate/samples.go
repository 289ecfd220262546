package gate

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// fewSamples is a multiple of the smallest number of samples for a percentile. Below that multiple
// the tail is sparse, and caution mentions the number of samples.
const fewSamples = 10

// samples counts the samples of a percentile. The zero value means that they are unknown or that
// the figure is not a percentile.
type samples struct {
	known       bool
	least, made int
}

func samplesOf(spec result.Spec, metrics map[string]result.Metric) samples {
	least := spec.SamplesLeast()
	count, has := metrics[spec.Family+"_n"]
	if least == 0 || !has || !finite(count.Median) {
		return samples{}
	}
	return samples{known: true, least: least, made: int(count.Median)}
}

// tooFew reports whether there are too few samples to estimate the percentile: it would be the
// largest sample.
func (s samples) tooFew() bool { return s.known && s.made < s.least }

func (s samples) text() string { return render.Plural(s.made, "sample") }

// caution returns a suffix for the sentence of a limit whose figure has few samples, or "".
func (s samples) caution() string {
	if !s.known || s.made >= fewSamples*s.least {
		return ""
	}
	return ", from " + s.text()
}
