package gate

import "fmt"

// relativeFigure names what a limit that is relative to a reference limits, and the reference.
type relativeFigure struct {
	metric          string
	kind            Kind
	point, workload string
	reference       string // "" of limits that are relative to none
}

func (l Limit) relativeFigure() relativeFigure {
	return relativeFigure{l.Metric, l.Kind, l.Point, l.Workload, l.RelativeTo}
}

func (f *Finding) relativeFigure() relativeFigure {
	return relativeFigure{f.Metric, f.Kind, f.Point, f.Workload, f.RelativeTo}
}

// alternativeTo reports whether two limits are relative to references and differ in nothing but the reference.
func (r relativeFigure) alternativeTo(other relativeFigure) bool {
	if r.reference == "" || other.reference == "" || r.reference == other.reference {
		return false
	}
	other.reference = r.reference
	return r == other
}

// takeAlternatives lets one limit be enough of several that are relative to references and differ in nothing but the reference: where it is kept, a
// broken one is not judged. A host can be slow in what one reference does and fast in what another does, while a slower build is slow relative to all.
func takeAlternatives(findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.OK || !f.Judged {
			continue
		}
		for j := range findings {
			if kept := &findings[j]; kept.OK && f.relativeFigure().alternativeTo(kept.relativeFigure()) {
				f.Judged = false
				f.Sentence = fmt.Sprintf("%s is not judged: %s keeps the %s that is relative to %s, and one of the two is enough",
					at(f.Point)+at(f.Workload)+f.Metric+relativeTo(f.RelativeTo), f.Metric, f.Kind, kept.RelativeTo)
				break
			}
		}
	}
}

// alternatives returns the references of those limits of which one that is kept is enough, beside the limit itself.
func (l Limit) alternatives(all []Limit) (references []string) {
	for _, o := range all {
		if l.relativeFigure().alternativeTo(o.relativeFigure()) {
			references = append(references, o.RelativeTo)
		}
	}
	return references
}
