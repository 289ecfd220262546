package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// marksPageMax is the maximum number of disturbances on a page.
const marksPageMax = 40

func duetSections(p *doc.Document, c *comparison, ratios doc.Figure, durability string) {
	primaries, counters := splitDeltas(c.Metrics)
	primariesSection(p, c, primaries, durability)
	plotOfComparison(p, c, ratios, durability)
	countersSection(p, counters, durability)
	shownSection(p, c, durability)
	disturbancesSection(p, c)
}

func primariesSection(p *doc.Document, c *comparison, primaries []result.MetricDelta, durability string) {
	if len(primaries) == 0 {
		return
	}
	d := c.Duet
	p.Heading(2, "Primaries, durability %s", doc.Code(durability))
	p.Paragraph("Each generation of fresh processes yields one ratio of the change to the base. The loss is the mean of their logarithms, positive if the change is worse;"+
		" for a latency, the mean excludes the highest and the lowest fifth. A primary is regressed if \"at least\", the one-sided lower bound of the loss, exceeds"+
		" %s. False alarms of all primaries and looks together occur in at most %s of comparisons, of which this look may use %s. A primary"+
		" passes if \"at most\", the one-sided upper %s bound, is below the margin. p is corrected for the number of primaries."+
		" Detectable is the loss that this look detects with a probability of 80 %%. The control is the ratio of the base's odd"+
		" slices to its even ones, with its 95 %% interval.",
		leastOf(primaries), render.PercentTo(d.AlphaAll, 2), render.PercentTo(d.Alpha, 2), render.PercentTo(d.Confidence, 0))
	var rows [][]string
	for _, m := range primaries {
		l := m.Loss
		row := []string{
			doc.Code(m.Metric), words.Unit(m.Unit), side(m.Base), side(m.Change), doc.None, doc.None, doc.None, render.Percent(l.Margin), doc.None, doc.None,
			ratio(m.ControlRatio, m.ControlRatioLow, m.ControlRatioHigh), "**" + doc.Escape(string(m.Outcome)) + "**",
		}
		if len(l.Generations) > 0 {
			row[4], row[5], row[6] = signed(l.Estimate), signed(l.Low), signed(l.High)
			row[8], row[9] = partOrNone(m.Detectable), render.Number(m.PAdjusted)
		}
		rows = append(rows, row)
	}
	p.Table([]string{
		"primary", "unit", ">base", ">change", ">loss", ">at least", ">at most", ">margin", ">detectable", ">p, corrected", ">control", "outcome",
	}, rows)
	reasonsOf(p, primaries)
}

// leastOf returns the largest loss that is never a regression.
func leastOf(primaries []result.MetricDelta) string { return render.Percent(primaries[0].Effect) }

func countersSection(p *doc.Document, counters []result.MetricDelta, durability string) {
	if len(counters) == 0 {
		return
	}
	p.Heading(2, "Counters from fixed work, durability %s", doc.Code(durability))
	p.Paragraph("Both servers did the same seeded sequence of operations with one request outstanding, so their counters differ only" +
		" if the code does.")
	var rows [][]string
	for _, m := range counters {
		change := doc.None
		if m.Ratio > 0 {
			change = render.Change(m.Ratio)
		}
		rows = append(rows, []string{
			doc.Code(m.Metric), words.Unit(m.Unit), counted(m.Base), counted(m.Change), change, "**" + doc.Escape(string(m.Outcome)) + "**",
		})
	}
	p.Table([]string{"counter", "unit", ">base", ">change", ">difference", "outcome"}, rows)
	reasonsOf(p, counters)
}

func counted(m result.Metric) string {
	if m.N == 0 {
		return "missing"
	}
	return render.Digits(m.Median, 6)
}

// shownSection shows the figures that do not affect the verdict.
func shownSection(p *doc.Document, c *comparison, durability string) {
	var rows [][]string
	for _, f := range c.Duet.Shown {
		rows = append(rows, []string{doc.Escape(f.Name), words.Unit(f.Unit), render.Number(f.Base), render.Number(f.Change)})
	}
	if len(rows) == 0 {
		return
	}
	p.Heading(2, "Shown and not judged, durability %s", doc.Code(durability))
	p.Table([]string{"figure", "unit", ">base", ">change"}, rows)
}

// disturbancesSection lists the slices that a stall disturbed and the generations that do not
// count.
func disturbancesSection(p *doc.Document, c *comparison) {
	d := c.Duet
	if len(d.Marks)+len(d.Invalid) == 0 {
		return
	}
	p.Heading(2, "Disturbances")
	p.Listed("Generations that do not count:", d.Invalid)
	shown := d.Marks[:min(len(d.Marks), marksPageMax)]
	p.Listed("Disturbed, and counted like all others:", shown)
	if left := len(d.Marks) - len(shown); left > 0 {
		p.Paragraph("%s more are in the comparison.", render.Plural(left, "disturbance"))
	}
}

// duetSidesTable describes the sides of a duet.
func duetSidesTable(p *doc.Document, c *comparison) {
	var rows [][]string
	for _, s := range c.duet.Sides {
		client := "that of the harness"
		if s.OwnClient {
			client = "its own"
		}
		var servers []string
		for _, sum := range s.Servers {
			servers = append(servers, doc.Code(sum))
		}
		env := doc.None
		if len(s.Env) > 0 {
			env = doc.Code(strings.Join(s.Env, " "))
		}
		rows = append(rows, []string{
			doc.Escape(s.Name), doc.Code(result.Build{Commit: s.Commit, Dirty: s.Dirty}.Revision()), strings.Join(servers, " "), doc.Code(s.Generator), client, env,
		})
	}
	p.Table([]string{"side", "commit", "server binaries, SHA-256", "generator, SHA-256", "client", "environment"}, rows)
}

// duetLimits lists what a duet does not show.
func duetLimits(c *comparison) []string {
	list := []string{
		"Other loads. This is one scenario on one host: a change may lose there what it gains here.",
		"Losses below the margins. A pass excludes larger losses, each with its stated confidence. It does not prove that both sides are equal.",
		"One side alone on the host. The other side's processes share memory, caches and the disk.",
	}
	if !c.Duet.OwnClients {
		list = append(list, "The client of each side. Both generators use the harness's client.")
	}
	if c.Duet.OpenPerS == 0 {
		list = append(list, "Latencies. There was no open-loop phase.")
	}
	return list
}

func howDuet(c *result.Comparison) string {
	return fmt.Sprintf("a duet of %s; %s", lookText(c), conditionsText(c.Duet))
}
