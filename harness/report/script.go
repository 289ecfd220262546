package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func ofScript(r *result.Result) bool {
	return scenario.Any(r.Manifest.Scenario.Workloads, func(w scenario.Workload) bool { return w.Driver == scenario.DriverK6 })
}

// scriptParagraph describes the source of the load if it is a k6 script.
func scriptParagraph(p *doc.Document, r *result.Result) {
	if !ofScript(r) {
		return
	}
	named := func(s scenario.Script) string {
		return fmt.Sprintf("%s (SHA-256 %s)", doc.Code(s.Path), doc.Code(words.OrUnknown(s.SHA256)))
	}
	scripts := "the script " + named(r.Manifest.Scenario.Workloads[0].Script)
	if several := r.Manifest.Scenario.Scripts; len(several) > 0 {
		var all []string
		for _, s := range several {
			all = append(all, named(s))
		}
		scripts = "the scripts " + strings.Join(all, ", ")
	}
	p.Paragraph("The load came from a k6 process that ran %s. JavaScript is the generator: its CPU time is the client's, and it may limit the rate before"+
		" the server does. Prony's extension measured the latencies and the account of the tasks in that process.", scripts)
}
