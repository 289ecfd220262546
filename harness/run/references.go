package run

import (
	"context"
	"errors"

	"github.com/pronybench/prony/harness/reference"
	"github.com/pronybench/prony/harness/result"
)

// references contains samples of the host's performance. They are taken before the first round of a
// run and after each round. The arms of a comparison share them. Only the goroutine that executes
// the rounds may use the fields.
type references struct {
	names   []string
	samples map[string][]result.ReferenceSample
	err     error // the first error; after it no further sample is taken
	config  reference.Config
	// measure takes one sample.
	measure func(ctx context.Context, name string) (result.ReferenceSample, error)
}

func newReferences(names []string, c reference.Config) *references {
	return &references{names: names, samples: map[string][]result.ReferenceSample{}, config: c, measure: func(ctx context.Context, name string) (result.ReferenceSample, error) {
		return reference.Measure(ctx, name, c)
	}}
}

// sample takes one sample of each reference. It stores an error until summarise returns it, because
// a run without references still has a result.
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

// summarise returns the references in the scenario's order. It returns an error if any measurement
// failed.
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
