package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// headersMax is the largest number of headers that a server accepts.
const headersMax = 32

// HasHeaders reports whether the tasks of the workload have headers.
func (w Workload) HasHeaders() bool { return w.Headers > 0 }

func checkHeaders(b *hclfile.Block, w *Workload) {
	if w.HasHeaders() {
		refuseLife(b, "headers", w, "the headers of its tasks", "does not support headers", "that could have headers")
	}
}

func checkHeadersOf(b *hclfile.Block, s *Scenario) {
	refusing(b, "headers")(s.Soak != nil && Any(s.Workloads, Workload.HasHeaders),
		"a soak: its account of tasks does not record wrong headers across a restart", "remove one of the two")
}
