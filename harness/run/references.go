package run

import (
	"context"
	"errors"

	"github.com/pronybench/prony/harness/reference"
	"github.com/pronybench/prony/harness/result"
)

// references are the samples of what the host is worth, taken beside the rounds of a run: before the first round and after each one.
// Arms of a comparison share theirs. The fields belong to the goroutine that executes the rounds.
type references struct {
	names   []string
	samples map[string][]result.ReferenceSample
	err     error // the first one; no further sample is taken after it
	config  reference.Config
	// measure takes one sample.
	measure func(ctx context.Context, name string) (result.ReferenceSample, error)
}

// newReferences returns the references that a scenario asks for, measured beside its data.
func newReferences(names []string, c reference.Config) *references {
	return &references{names: names, samples: map[string][]result.ReferenceSample{}, config: c, measure: func(ctx context.Context, name string) (result.ReferenceSample, error) {
		return reference.Measure(ctx, name, c)
	}}
}

// sample measures each reference once. What prevents it is kept for summarise: a run has a result all the same.
func (r *references) sample(ctx context.Context) {
	for _, name := range r.names {
		if r.err != nil || ctx.Err() != nil {
			return
		}
		s, err := r.measure(ctx, name)
		if err != nil {
			r.err = err
			return
		}
		r.samples[name] = append(r.samples[name], s)
	}
}

// summarise returns the references in the scenario's order. It fails if one of them could not be measured each time.
func (r *references) summarise() ([]result.Reference, error) {
	var all []result.Reference
	errs := []error{r.err}
	if r.err == nil {
		for _, name := range r.names {
			of, err := result.SummariseReference(reference.Describe(name, r.config), r.samples[name])
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all = append(all, of)
		}
	}
	return all, errors.Join(errs...)
}
