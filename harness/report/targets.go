package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// targetsSection lists the servers that a driver program launched, their settings with the reasons,
// and the claims of their own documentation.
func targetsSection(p *doc.Document, r *result.Result) {
	targets := r.Manifest.Targets
	if len(targets) == 0 {
		return
	}
	p.Heading(3, "Targets")
	p.Paragraph("The driver program's description of the servers that it launched. The guarantee defines when a server acknowledges: `memory` in the process's memory," +
		" `os` written to the operating system, `fsync` after an fsync that covers it, `majority` in the memory or files of most nodes, `majority_fsync` after an" +
		" fsync on most nodes. Each server has the settings with the highest rate for its guarantee.")
	var rows [][]string
	const points = 8 // index of the column with the points whose other columns are equal
	for _, t := range targets {
		version := t.Version
		if t.Missing != "" {
			version = "not measured: " + t.Missing
		}
		where := "started for each round"
		if len(t.Addresses) > 0 {
			where = "ran already at " + strings.Join(t.Addresses, ", ")
		}
		row := []string{
			doc.Code(t.Name), doc.Escape(t.Product), doc.Escape(cmp.Or(version, "unknown")), doc.Escape(t.Client), doc.Code(t.Guarantee), render.Count(t.Nodes), where,
			doc.Escape(cmp.Or(strings.Join(t.Own, ", "), "none")), "all",
		}
		same := slices.IndexFunc(rows, func(r []string) bool { return slices.Equal(r[:points], row[:points]) })
		switch {
		case same >= 0:
			rows[same][points] += ", " + strconv.Itoa(t.Point)
			continue
		case t.Point > 0:
			row[points] = strconv.Itoa(t.Point)
		}
		rows = append(rows, row)
	}
	p.Table([]string{"target", "product", "version", "client", "guarantee", ">nodes", "servers", "settings of the scenario", "points"}, rows)
	targetSettings(p, targets)
}

// targetSettings lists the settings of each target once, and its claims.
func targetSettings(p *doc.Document, targets []result.Target) {
	var rows [][]string
	var claims []string
	var seen []string
	for _, t := range targets {
		if slices.Contains(seen, t.Name) {
			continue
		}
		seen = append(seen, t.Name)
		for _, s := range t.Settings {
			rows = append(rows, []string{doc.Code(t.Name), doc.Code(s.Name), doc.Code(s.Value), doc.Escape(s.Because)})
		}
		if t.Claim != "" {
			claims = append(claims, t.Name+": "+t.Claim)
		}
	}
	if len(rows) > 0 {
		p.Table([]string{"target", "setting", "value", "because"}, rows)
	}
	p.Listed("Claims of their own documentation about speed and losses:", claims)
}
