package report

import (
	"github.com/pronybench/prony/harness/result"

	"github.com/pronybench/prony/harness/render"
)

func attacksSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, a := range round.Attacks {
			rows = append(rows, []string{roundName(r, round), code(a.Kind), render.Count(a.Tries), render.Count(a.Refused), render.Count(a.Failed)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Attacks, durability %s", code(r.Manifest.Durability()))
	p.paragraph("Actions of hostile clients, which start before a round's warm-up and end after its load. They run in their own process on the" +
		" same host. A try is refused if the server answers with an error that says so. It fails if the connection is cut, the call" +
		" times out, or no connection is made. The attackers' CPU time is part of the host's load, and of no other figure.")
	p.table([]string{">round", "attack", ">tries", ">refused", ">failed"}, rows)
}
