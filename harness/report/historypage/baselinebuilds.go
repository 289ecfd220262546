package historypage

import (
	"fmt"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
)

// BaselineBuilds returns a document with the baseline builds: the current one, the ratios of each
// move, and the products of all moves.
func BaselineBuilds(f *baselinebuild.File) *doc.Document {
	p := &doc.Document{}
	baselineBuildsSection(p, f)
	return p
}

func baselineBuildsSection(p *doc.Document, f *baselinebuild.File) {
	if f == nil {
		return
	}
	p.Heading(2, "Baseline builds")
	p.Paragraph("%s.", inForce(f))
	if len(f.Builds) == 1 {
		return
	}
	var rows [][]string
	for _, build := range f.Builds[1:] {
		for i, row := range ratioRows(build) {
			move := []string{"", ""}
			if i == 0 {
				move = []string{build.Date, doc.Code(render.Commit(build.Commit))}
			}
			rows = append(rows, append(move, row...))
		}
	}
	p.Table([]string{"moved", "to", "scenario", "figure", ">ratio to the previous build"}, rows)
	var items []string
	for _, build := range f.Builds[1:] {
		item := fmt.Sprintf("%s, to %s: %s", build.Date, doc.Code(render.Commit(build.Commit)), doc.Escape(build.Because))
		if build.AcceptCreep != "" {
			item += fmt.Sprintf(". A product below %v of its best was accepted: %s", baselinebuild.CreepShare, doc.Escape(build.AcceptCreep))
		}
		items = append(items, item)
	}
	p.List(items)
	p.Paragraph("Each product covers all moves, with inverted ratios for costs, latencies and counters: above 1, the figure is better than at %s.",
		doc.Code(render.Commit(f.Builds[0].Commit)))
	p.Table([]string{"scenario", "figure", ">moves", ">product", ">best", "best at", ">share of the best"}, productRows(f))
}

// inForce names the build that limits are relative to, and its date.
func inForce(f *baselinebuild.File) string {
	current := f.Current()
	since := fmt.Sprintf("Speed limits are relative to the baseline build %s since %s", doc.Code(render.Commit(current.Commit)), current.Date)
	if len(f.Builds) == 1 {
		return since + ", which has never moved"
	}
	return fmt.Sprintf("%s, after %s from %s", since, render.Plural(len(f.Builds)-1, "move"), doc.Code(render.Commit(f.Builds[0].Commit)))
}

// ratioRows returns the scenario, the metric and the value of each ratio of a build. Only the first
// row of a scenario has its name.
func ratioRows(build baselinebuild.Build) (rows [][]string) {
	for i, r := range build.Ratios {
		scenario := ""
		if i == 0 || build.Ratios[i-1].Scenario != r.Scenario {
			scenario = doc.Code(r.Scenario)
		}
		rows = append(rows, []string{scenario, doc.Code(r.Metric), render.Digits(r.Value, ratioDigits)})
	}
	return rows
}

// ratioDigits is the number of digits of a ratio and of a product.
const ratioDigits = 4

// productRows returns the cells of each product. Only the first row of a scenario has its name.
func productRows(f *baselinebuild.File) (rows [][]string) {
	products := f.Products()
	for i, p := range products {
		scenario := ""
		if i == 0 || products[i-1].Scenario != p.Scenario {
			scenario = doc.Code(p.Scenario)
		}
		rows = append(rows, []string{
			scenario, doc.Code(p.Metric), fmt.Sprint(p.Moves), render.Digits(p.Value, ratioDigits), render.Digits(p.Best, ratioDigits), doc.Code(render.Commit(p.BestCommit)), render.Percent(p.Share),
		})
	}
	return rows
}
