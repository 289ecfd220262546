package gate

import (
	"cmp"
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// readHostClass reads host_class = "CLASS", the only hosts that a limit which is a figure is judged on.
func readHostClass(b *hclfile.Block, l Limit, spec result.Spec) string {
	class := b.Text("host_class", hclfile.TextSpec{MaxBytes: 100, Example: "2-cpus-amd64-virtual-ext4"})
	switch {
	case class == "":
	case !hclfile.IsName(class):
		b.AttrProblem("host_class", fmt.Sprintf("%q is not the name of a host class", class), "prony doctor prints the name of this host's")
	case l.RelativeTo != "" || b.Has("relative_to_point"):
		b.AttrProblem("host_class", "a relative limit holds on every host", "remove host_class")
	case spec.OfLedger():
		b.AttrProblem("host_class", l.Metric+" is judged on every host", "remove host_class")
	}
	return class
}

// holdsOn reports whether the limit is for the host of a run.
func (l Limit) holdsOn(r *result.Result) bool {
	return l.HostClass == "" || l.HostClass == r.Manifest.Host.Class()
}

// elsewhere reports whether the limit is for another host class than the run's, and makes the finding say so.
func (f *Finding) elsewhere(l Limit, name string, r *result.Result) bool {
	if l.holdsOn(r) {
		return false
	}
	f.Judged, f.elsewhereOnly = false, true
	f.Sentence = fmt.Sprintf("%s is not judged on this host class, %s: the %s %s is for %s",
		name, cmp.Or(r.Manifest.Host.Class(), "unknown"), l.Kind, render.Digits(l.Value, 4), l.HostClass)
	return true
}

// onlyImplied warns if the host class of a run leaves no limit to judge it by but those on the ledger.
func onlyImplied(findings []Finding, r *result.Result) (warnings []string) {
	skipped := 0
	for _, f := range findings {
		switch {
		case f.elsewhereOnly:
			skipped++
		case !ofLedger(f.Metric):
			return nil
		}
	}
	if skipped == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no limit is for the host class %s: only lost, duplicated and corrupted were judged",
		cmp.Or(r.Manifest.Host.Class(), "unknown"))}
}
