package profile

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// subtract returns the difference of two snapshots of a cumulative profile, taken at the start and
// the end of span. It drops samples whose summarised value did not grow. Other values that are
// negative become 0. The result contains only the sample types in k.keep. The snapshots are not
// modified.
func subtract(before, after *profile.Profile, span Span, k kind) (*profile.Profile, error) {
	first, last := before.Copy(), after.Copy()
	for _, p := range []*profile.Profile{first, last} {
		if err := keepTypes(p, k.keep); err != nil {
			return nil, err
		}
	}
	first.Scale(-1)
	difference, err := profile.Merge([]*profile.Profile{last, first})
	if err != nil {
		return nil, fmt.Errorf("subtract the first snapshot from the last: %w", err)
	}
	index, err := valueIndex(difference, k.value)
	if err != nil {
		return nil, err
	}
	difference.Sample = slices.DeleteFunc(difference.Sample, func(s *profile.Sample) bool {
		return s.Value[index] <= 0
	})
	for _, s := range difference.Sample {
		for i := range s.Value {
			s.Value[i] = max(s.Value[i], 0)
		}
	}
	difference = difference.Compact() // also drops the frames of the dropped samples
	difference.DefaultSampleType = k.value
	difference.TimeNanos = span.From.At.UnixNano()
	difference.DurationNanos = span.To.At.Sub(span.From.At).Nanoseconds()
	return difference, nil
}

// keepTypes removes all sample types that are not in names. If names is empty, it removes none.
func keepTypes(p *profile.Profile, names []string) error {
	if len(names) == 0 {
		return nil
	}
	indexes := make([]int, len(names))
	for i, name := range names {
		index, err := valueIndex(p, name)
		if err != nil {
			return err
		}
		indexes[i] = index
	}
	types := make([]*profile.ValueType, len(indexes))
	for i, index := range indexes {
		types[i] = p.SampleType[index]
	}
	p.SampleType = types
	p.DefaultSampleType = ""
	for _, s := range p.Sample {
		values := make([]int64, len(indexes))
		for i, index := range indexes {
			values[i] = s.Value[index]
		}
		s.Value = values
	}
	return nil
}

func valueIndex(p *profile.Profile, name string) (int, error) {
	for i, t := range p.SampleType {
		if t.Type == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the profile has no values of type %q", name)
}
