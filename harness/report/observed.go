package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// observedParagraph describes the observation of servers in timed rounds, if the scenario requests
// it.
func observedParagraph(p *doc.Document, r *result.Result) {
	var items []string
	for _, point := range runs.PointNumbers(r) {
		for _, round := range runs.Timed(r) {
			if round.Point != point || round.Observed == nil {
				continue
			}
			of := ""
			if point != 0 {
				of = runs.PointName(r, point) + ": "
			}
			items = append(items, of+observedText(round.Observed))
			break // all rounds of a point have the same observation
		}
	}
	p.Listed("Observation of the servers in the windows of the timed rounds:", items)
	if len(r.TimedProfiled()) > 0 {
		p.Paragraph("**Servers were profiled in timed rounds.** Figures of these rounds do not apply to a server without profiling.")
	}
}

func observedText(o *result.Observed) string {
	var all []string
	if o.ScrapeS > 0 {
		all = append(all, fmt.Sprintf("metrics read every %s s", render.Number(o.ScrapeS)))
	}
	if len(o.Profiles) > 0 {
		all = append(all, "profiles recorded: "+strings.Join(o.Profiles, ", "))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, "; ")
}
