package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// referencesSection shows what the host was worth while the run was measured.
func referencesSection(p *page, r *result.Result) {
	if len(r.References) == 0 {
		return
	}
	var rows [][]string
	for _, of := range r.References {
		row := []string{code(of.Name), text(of.Operation)}
		for _, m := range []result.Metric{of.PerS, of.CPUUs} {
			row = append(row, render.Number(m.Median), render.Number(m.Low), render.Number(m.High))
		}
		rows = append(rows, append(row, fmt.Sprint(of.PerS.N)))
	}
	p.heading(2, "References, durability %s", code(r.Manifest.Durability()))
	p.paragraph("What the host was worth in the minutes of the run: fixed operations without the server, measured before the first round and" +
		" after each one. The figures are medians over the samples, with the 95 %% interval from six samples on and the range below.")
	p.table([]string{"reference", "operation", ">per second", ">low", ">high", ">CPU time of one, us", ">low", ">high", ">n"}, rows)
	for _, of := range r.References {
		if of.ServerCPUUs != nil && of.ClientCPUUs != nil {
			p.paragraph("Of the CPU time of %s the server has %s us (%s to %s) and the client %s us (%s to %s).", code(of.Name),
				render.Number(of.ServerCPUUs.Median), render.Number(of.ServerCPUUs.Low), render.Number(of.ServerCPUUs.High),
				render.Number(of.ClientCPUUs.Median), render.Number(of.ClientCPUUs.Low), render.Number(of.ClientCPUUs.High))
		}
	}
}
