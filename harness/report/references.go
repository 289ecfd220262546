package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// referencesSection shows the speed of the host during the run.
func referencesSection(p *doc.Document, r *result.Result) {
	if len(r.References) == 0 {
		return
	}
	var rows [][]string
	for _, of := range r.References {
		row := []string{doc.Code(of.Name), doc.Escape(of.Operation)}
		for _, m := range []result.Metric{of.PerS, of.CPUUs} {
			row = append(row, render.Number(m.Median), render.Number(m.Low), render.Number(m.High))
		}
		rows = append(rows, append(row, fmt.Sprint(of.PerS.N)))
	}
	p.Heading(2, "References, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The speed of the host during the run: fixed operations without the server, measured before the first round and" +
		" after each one. The figures are medians over the samples, with the 95 %% interval for six or more samples and the range for fewer.")
	p.Table([]string{"reference", "operation", ">per second", ">low", ">high", ">CPU time of one, us", ">low", ">high", ">n"}, rows)
	for _, of := range r.References {
		if of.ServerCPUUs != nil && of.ClientCPUUs != nil {
			p.Paragraph("The CPU time of %s is %s us (%s to %s) in the server and %s us (%s to %s) in the client.", doc.Code(of.Name),
				render.Number(of.ServerCPUUs.Median), render.Number(of.ServerCPUUs.Low), render.Number(of.ServerCPUUs.High),
				render.Number(of.ClientCPUUs.Median), render.Number(of.ClientCPUUs.Low), render.Number(of.ClientCPUUs.High))
		}
	}
}
