package terminal

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/fold"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// foldedMetrics are the metrics in the text, if the load has them.
var foldedMetrics = []string{
	result.CyclesPerS, result.OfferedPerS, "enqueue_latency_ms_p50", "enqueue_latency_ms_p99", "cycle_latency_ms_p50", "cycle_latency_ms_p99", "cycle_latency_ms_p999",
	"service_latency_ms_p99", "slip_ms_p99",
}

// Folded renders the merged result of several k6 processes as plain text. It ends with a
// newline.
func Folded(f *fold.Folded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, a window of %s s\n\n", f.Verdict, render.Plural(len(f.Instances), "instance"), render.Number(f.WindowS))
	t := render.Table{Header: []string{"instance", ">share, %", ">cycles/s", ">enqueued", ">completed"}}
	for _, i := range f.Instances {
		t.Rows = append(t.Rows, []string{i.Name, render.Number(100 * i.Share), render.Number(i.CyclesPerS), render.Count(i.Enqueued), render.Count(i.Completed)})
	}
	t.Rows = append(t.Rows, []string{"together", "100", render.Number(f.Metrics[result.CyclesPerS]), render.Count(f.Ledger.Enqueued), render.Count(f.Ledger.Completed)})
	b.WriteString(t.Text("  ") + "\n")
	metrics := render.Table{Header: []string{"metric", ">value", "unit"}}
	for _, name := range foldedMetrics {
		if v, has := f.Metrics[name]; has {
			spec, _ := result.Lookup(name)
			metrics.Rows = append(metrics.Rows, []string{name, render.Number(v), spec.Unit})
		}
	}
	b.WriteString(metrics.Text("  ") + "\n")
	l := f.Ledger
	fmt.Fprintf(&b, "  ledger: %d lost, %d duplicated, %d corrupted, %d of unknown outcome\n", l.Lost, l.Duplicated, l.Corrupted, l.Unknown)
	for _, reason := range f.Reasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	for _, warning := range f.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	return b.String()
}
