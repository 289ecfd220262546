package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

func attacksSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, a := range round.Attacks {
			rows = append(rows, []string{runs.RoundName(r, round), doc.Code(a.Kind), render.Count(a.Tries), render.Count(a.Refused), render.Count(a.Failed)})
		}
	}
	runs.Section(p, r, "Attacks",
		"Actions of hostile clients, which start before a round's warm-up and end after its load. They run in their own process on the"+
			" same host. A try is refused if the server answers with an error that says so. It fails if the connection is cut, the call"+
			" times out, or no connection is made. The attackers' CPU time is part of the host's load, and of no other figure.",
		[]string{">round", "attack", ">tries", ">refused", ">failed"}, rows)
}
