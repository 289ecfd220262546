package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/render"
)

// BaselineBuildsText renders the baseline builds for a terminal: the current one, the ratios of
// each move, and the products of all moves. It ends with a newline.
func BaselineBuildsText(f *baselinebuild.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", inForce(f, unmarked))
	if len(f.Builds) == 1 {
		return b.String()
	}
	for _, build := range f.Builds[1:] {
		fmt.Fprintf(&b, "\n  %s: %s\n", moveName(build, unmarked), build.Because)
		if build.AcceptCreep != "" {
			fmt.Fprintf(&b, "  %s\n", creepText(build))
		}
		table := render.Table{Header: []string{"SCENARIO", "METRIC", ">RATIO"}}
		table.Rows = ratioRows(build, unmarked)
		b.WriteString(table.Text("    "))
	}
	fmt.Fprintf(&b, "\n  %s\n", productsMeaning(f, unmarked))
	table := render.Table{Header: []string{"SCENARIO", "METRIC", ">MOVES", ">PRODUCT", ">BEST", "BEST AT", ">OF BEST"}}
	table.Rows = productRows(f, unmarked)
	b.WriteString(table.Text("    "))
	return b.String()
}

// baselineBuildsSection writes the content of BaselineBuildsText to a page.
func baselineBuildsSection(p *page, f *baselinebuild.File) {
	if f == nil {
		return
	}
	p.heading(2, "Baseline builds")
	p.paragraph("%s.", inForce(f, code))
	if len(f.Builds) == 1 {
		return
	}
	var rows [][]string
	for _, build := range f.Builds[1:] {
		for i, row := range ratioRows(build, code) {
			move := []string{"", ""}
			if i == 0 {
				move = []string{build.Date, code(render.Commit(build.Commit))}
			}
			rows = append(rows, append(move, row...))
		}
	}
	p.table([]string{"moved", "to", "scenario", "figure", ">ratio to the previous build"}, rows)
	var items []string
	for _, build := range f.Builds[1:] {
		item := moveName(build, code) + ": " + text(build.Because)
		if build.AcceptCreep != "" {
			item += ". " + text(creepText(build))
		}
		items = append(items, item)
	}
	p.list(items)
	p.paragraph("%s", productsMeaning(f, code))
	p.table([]string{"scenario", "figure", ">moves", ">product", ">best", "best at", ">share of the best"}, productRows(f, code))
}

// inForce names the build that limits are relative to, and its date.
func inForce(f *baselinebuild.File, mark func(string) string) string {
	current := f.Current()
	since := fmt.Sprintf("Speed limits are relative to the baseline build %s since %s", mark(render.Commit(current.Commit)), current.Date)
	if len(f.Builds) == 1 {
		return since + ", which has never moved"
	}
	return fmt.Sprintf("%s, after %s from %s", since, render.Plural(len(f.Builds)-1, "move"), mark(render.Commit(f.Builds[0].Commit)))
}

func moveName(build baselinebuild.Build, mark func(string) string) string {
	return build.Date + ", to " + mark(render.Commit(build.Commit))
}

func creepText(build baselinebuild.Build) string {
	return fmt.Sprintf("A product below %v of its best was accepted: %s", baselinebuild.CreepShare, build.AcceptCreep)
}

// ratioRows returns the scenario, the metric and the value of each ratio of a build. Only the first
// row of a scenario has its name.
func ratioRows(build baselinebuild.Build, mark func(string) string) (rows [][]string) {
	for i, r := range build.Ratios {
		scenario := ""
		if i == 0 || build.Ratios[i-1].Scenario != r.Scenario {
			scenario = mark(r.Scenario)
		}
		rows = append(rows, []string{scenario, mark(r.Metric), render.Digits(r.Value, ratioDigits)})
	}
	return rows
}

// ratioDigits is the number of digits of a ratio and of a product.
const ratioDigits = 4

func productsMeaning(f *baselinebuild.File, mark func(string) string) string {
	return fmt.Sprintf("Each product covers all moves, with inverted ratios for costs, latencies and counters: above 1, the figure is better than at %s.",
		mark(render.Commit(f.Builds[0].Commit)))
}

// productRows returns the cells of each product. Only the first row of a scenario has its name.
func productRows(f *baselinebuild.File, mark func(string) string) (rows [][]string) {
	products := f.Products()
	for i, p := range products {
		scenario := ""
		if i == 0 || products[i-1].Scenario != p.Scenario {
			scenario = mark(p.Scenario)
		}
		rows = append(rows, []string{
			scenario, mark(p.Metric), fmt.Sprint(p.Moves), render.Digits(p.Value, ratioDigits), render.Digits(p.Best, ratioDigits), mark(render.Commit(p.BestCommit)), render.Percent(p.Share),
		})
	}
	return rows
}
