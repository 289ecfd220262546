package gate

import "fmt"

// takeAlternatives lets one limit be enough of several that are relative to references and differ in nothing but the reference: where it is kept, a
// broken one is not judged. A host can be slow in what one reference does and fast in what another does, while a slower build is slow relative to all.
func takeAlternatives(findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.OK || !f.Judged {
			continue
		}
		for _, kept := range findings {
			if kept.OK && f.alternativeTo(kept) {
				f.Judged = false
				f.Sentence = fmt.Sprintf("%s is not judged: %s keeps the %s that is relative to %s, and one of the two is enough",
					at(f.Point)+at(f.Workload)+f.Metric+relativeTo(f.RelativeTo), f.Metric, f.Kind, kept.RelativeTo)
				break
			}
		}
	}
}

func (f *Finding) alternativeTo(other Finding) bool {
	return f.RelativeTo != "" && other.RelativeTo != "" && f.RelativeTo != other.RelativeTo &&
		f.Metric == other.Metric && f.Kind == other.Kind && f.Point == other.Point && f.Workload == other.Workload
}

// alternatives returns the references of those limits of which one that is kept is enough, beside the limit itself.
func (l Limit) alternatives(all []Limit) (references []string) {
	for _, o := range all {
		if l.RelativeTo != "" && o.RelativeTo != "" && o.RelativeTo != l.RelativeTo &&
			o.Metric == l.Metric && o.Kind == l.Kind && o.Point == l.Point && o.Workload == l.Workload {
			references = append(references, o.RelativeTo)
		}
	}
	return references
}
