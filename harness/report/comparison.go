package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// ComparisonPage is the name of a comparison's page in the comparison's own folder.
const ComparisonPage = "comparison.md"

// profileDeltasMax is the maximum number of functions on a page.
const profileDeltasMax = 40

// comparison is the data of a comparison's page. manifest is that of the base or of the duet, and
// empty if the folder has neither.
type comparison struct {
	*result.Comparison
	manifest result.Manifest
	duet     *result.Duet // nil for a comparison of rounds
	files    []string     // files in the folder that the page is made from
}

func readComparison(dir string) (*comparison, error) {
	c, err := result.ReadComparison(dir)
	if err != nil {
		return nil, err
	}
	read := &comparison{Comparison: c, files: []string{result.ComparisonFile}}
	if c.Duet != nil {
		if read.duet, err = result.ReadDuet(dir); err != nil {
			return nil, err
		}
		// Without effect if the comparison has the description, which also uses profiles.
		gate.DescribeDuet(c, read.duet, nil)
		read.manifest, read.files = read.duet.Manifest, append(read.files, result.DuetFile)
		return read, nil
	}
	base := filepath.Join(dir, baseArm)
	if _, err := os.Stat(base); errors.Is(err, os.ErrNotExist) {
		return read, nil // two stored runs in other folders
	}
	r, _, err := result.Read(base)
	if err != nil {
		return nil, err
	}
	read.manifest = r.Manifest
	read.files = append(read.files, filepath.Join(baseArm, result.HistogramsFile), filepath.Join(baseArm, result.ResultFile))
	return read, nil
}

// baseArm is the subfolder of a comparison with the base's run.
const baseArm = "base"

// renderComparison writes the page and the plot of the comparison in the folder in, as Render does
// for a run.
func renderComparison(in, out string) ([]string, error) {
	c, err := readComparison(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	name := comparisonName(c.Comparison)
	caption := "Ratio of the change to the base for each metric, with its interval and the control's"
	if c.Duet != nil {
		caption += ", and for each generation"
	}
	ratios, err := drawn(c.Verdict, name+"-ratios.svg", caption, func() ([]byte, error) { return ratioPlot(c) })
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	return write(in, out, name, ComparisonPage, []doc.Figure{ratios}, comparisonPage(c, ratios))
}

func comparisonName(c *result.Comparison) string { return "compare-" + result.Slug(c.Scenario) }

// publishComparison copies the data of a comparison's page, and renders the page from the copy.
func publishComparison(dir, reportsDir string) ([]string, error) {
	c, err := readComparison(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	var reasons []string
	if fewer := c.manifest.FewerRounds(); fewer != "" {
		reasons = append(reasons, fewer)
	}
	if wanted := c.manifest.Scenario.Rounds; c.Duet == nil && c.Blocks+c.Dropped < wanted {
		reasons = append(reasons, fmt.Sprintf("%d blocks of rounds instead of the requested %d: the time ran out", c.Blocks+c.Dropped, wanted))
	}
	for _, side := range []result.Side{c.Base, c.Change} {
		if side.Dirty {
			reasons = append(reasons, side.Name+" has uncommitted changes in its tree")
		}
	}
	return publishCopy(dir, reportsDir, comparisonName(c.Comparison), c.files, reasons)
}

func comparisonPage(c *comparison, ratios doc.Figure) *doc.Document {
	p := &doc.Document{}
	durability := c.manifest.Durability()
	p.Heading(1, "%s: a change against its base", doc.Escape(words.OrUnknown(c.Scenario)))
	p.Paragraph("Verdict: **%s**. Scenario %s, durability %s: %s.", doc.Escape(string(c.Verdict)), doc.Code(c.Scenario), doc.Code(durability), howCompared(c.Comparison))
	p.Listed("Reasons for the verdict:", c.Reasons)
	p.Listed("Warnings:", c.Warnings)
	if c.Verdict == result.Incorrect {
		p.Paragraph("The ledger of a side does not balance, so no figure is published.")
	} else {
		if c.Duet != nil {
			duetSections(p, c, ratios, durability)
		} else {
			deltasSection(p, c, durability)
			plotOfComparison(p, c, ratios, durability)
		}
		boundsSection(p, c, durability)
		causesSection(p, c, durability)
		profileDeltasSection(p, c, durability)
	}
	sidesSection(p, c)
	p.Heading(2, "What this page does not measure")
	p.List(comparisonLimits(c))
	return p
}

// howCompared describes how the sides were measured.
func howCompared(c *result.Comparison) string {
	if c.Duet != nil {
		return howDuet(c)
	}
	if !c.Paired {
		return fmt.Sprintf("two stored runs of %s and %s, measured at different times", render.Plural(c.Base.Rounds, "round"), render.Plural(c.Change.Rounds, "round"))
	}
	sides := "two sides"
	if c.Control != nil {
		sides = "base, change, and the base again as the control"
	}
	how := fmt.Sprintf("%s, measured interleaved in %s", sides, render.Plural(c.Blocks, "block"))
	if c.Dropped > 0 {
		how += fmt.Sprintf("; %s dropped because of an invalid round", render.Plural(c.Dropped, "block"))
	}
	return how
}

func deltasSection(p *doc.Document, c *comparison, durability string) {
	if len(c.Metrics) == 0 {
		return
	}
	p.Heading(2, "Metrics, durability %s", doc.Code(durability))
	p.Paragraph("The ratio is that of the change to the base, with its 95 %% interval. The control is a second measurement of the base in the same run," +
		" so its ratio shows the noise. p is adjusted for the number of judged timings. Detectable is the smallest change that these rounds can" +
		" detect, and least the smallest that matters: if the first is larger, the absence of a difference shows nothing.")
	var rows [][]string
	for _, d := range c.Metrics {
		judged := []string{doc.None, doc.None, doc.None}
		if d.Ratio > 0 {
			judged = []string{render.Number(d.PAdjusted), partOrNone(d.Detectable), render.Percent(d.Effect)}
		}
		row := []string{
			doc.Code(d.Metric), words.Unit(d.Unit), side(d.Base), side(d.Change), ratio(d.Ratio, d.RatioLow, d.RatioHigh),
			ratio(d.ControlRatio, d.ControlRatioLow, d.ControlRatioHigh),
		}
		rows = append(rows, append(append(row, judged...), "**"+doc.Escape(string(d.Outcome))+"**"))
	}
	p.Table([]string{
		"metric", "unit", ">base", ">change", ">ratio", ">control", ">p, adjusted", ">detectable", ">least", "outcome",
	}, rows)
	reasonsOf(p, c.Metrics)
}

// boundsSection shows the limiting resource of each side.
func boundsSection(p *doc.Document, c *comparison, durability string) {
	var list []string
	for _, s := range []result.Side{c.Base, c.Change} {
		if s.Bound != nil {
			list = append(list, doc.Escape(s.Name)+": "+doc.Escape(s.Bound.Sentence))
		}
	}
	if len(list) == 0 {
		return
	}
	p.Heading(2, "What limits the rate, durability %s", doc.Code(durability))
	rule := limitsRule
	if c.Duet != nil {
		rule = "The figures are those of the closed load in the side's own slices. A resource limits the rate if at least 85 % of it is in use, and a lock" +
			" if at least one goroutine on average waits for it in the profiled generations."
	}
	p.Paragraph("%s", rule)
	p.List(list)
}

// reasonsOf lists the reason for each metric's outcome.
func reasonsOf(p *doc.Document, metrics []result.MetricDelta) {
	var because []string
	for _, d := range metrics {
		if d.Because != "" {
			because = append(because, fmt.Sprintf("%s: %s", doc.Code(d.Metric), doc.Escape(d.Because)))
		}
		for _, w := range d.Warnings {
			because = append(because, fmt.Sprintf("%s: warning: %s", doc.Code(d.Metric), doc.Escape(w)))
		}
	}
	p.List(because)
}

func side(m result.Metric) string {
	if m.N == 0 {
		return "missing"
	}
	return interval(m)
}

// ratio formats a ratio with its interval, precise to a tenth of a percent. A ratio of 0 means
// none.
func ratio(v, low, high float64) string {
	if v <= 0 {
		return doc.None
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", v, low, high)
}

func partOrNone(v float64) string {
	if v <= 0 {
		return "none"
	}
	return render.Percent(v)
}

func plotOfComparison(p *doc.Document, c *comparison, ratios doc.Figure, durability string) {
	if ratios.SVG != nil {
		p.Plot(fmt.Sprintf("%s, durability %s", doc.Escape(ratios.Caption), doc.Escape(durability)), ratios.File,
			fmt.Sprintf("%s. Durability %s, base %s, change %s, %s", ratios.Caption, doc.Code(durability), doc.Code(revision(c.Base)),
				doc.Code(revision(c.Change)), words.Machine(c.manifest.Host)))
	}
}

func revision(s result.Side) string { return result.Build{Commit: s.Commit, Dirty: s.Dirty}.Revision() }

// profileDeltasSection lists the functions whose share differs significantly.
func profileDeltasSection(p *doc.Document, c *comparison, durability string) {
	if len(c.Profiles) == 0 {
		return
	}
	p.Heading(2, "Functions that differ, durability %s", doc.Code(durability))
	p.Paragraph("Cost per cycle in the profiled rounds, of the functions whose difference has an interval (bootstrap over rounds) that excludes zero.")
	var rows [][]string
	for i, d := range c.Profiles {
		if i == profileDeltasMax {
			break
		}
		rows = append(rows, []string{
			doc.Code(d.Kind), doc.Code(d.Function), render.Amount(d.Base, d.Unit), render.Amount(d.Change, d.Unit), render.Amount(d.Change-d.Base, d.Unit),
			render.Amount(d.Low, d.Unit) + " to " + render.Amount(d.High, d.Unit), render.Amount(d.BaseCum, d.Unit), render.Amount(d.ChangeCum, d.Unit),
		})
	}
	p.Table([]string{"profile", "function", ">base", ">change", ">difference", ">interval", ">base, with callees", ">change, with callees"}, rows)
	if left := len(c.Profiles) - len(rows); left > 0 {
		p.Paragraph("%s more are in the comparison.", render.Plural(left, "function"))
	}
}

// sidesSection describes the compared sides and the host.
func sidesSection(p *doc.Document, c *comparison) {
	p.Heading(2, "Provenance")
	if c.Duet != nil {
		duetSidesTable(p, c)
	} else {
		armsTable(p, c)
	}
	host := c.manifest.Host
	table := [][]string{
		{"command", doc.Code(words.CommandLine(c.manifest.Command))},
		{"durability", doc.Code(c.manifest.Durability())},
		{"started (UTC)", words.Moment(c.Started)},
		{"finished (UTC)", words.Moment(c.Finished)},
		{"kernel", doc.Escape(host.Kernel)},
		{"CPU", doc.Escape(host.CPUModel)},
		{"CPUs", words.Known(float64(host.CPUs), "")},
		{"GOMAXPROCS of the generator", words.Known(float64(host.GOMAXPROCS), "")},
		{"memory", words.Known(host.MemoryMB, "MB")},
		{"file system of the data", doc.Escape(host.Filesystem)},
		{"fsync latency there", words.Fsync(host)},
	}
	for i := range table {
		table[i][1] = words.OrUnknown(table[i][1])
	}
	p.Table([]string{"what", "value"}, table)
	if s := &c.manifest.Scenario; s.Topology.Kind != "" { // the manifest was recorded
		differingSettings(p, s)
	}
	if c.Duet != nil {
		p.Paragraph("Phases and rounds apply to a comparison in interleaved rounds: a duet has its own lengths.")
		duetServersSection(p, c)
	}
}

func armsTable(p *doc.Document, c *comparison) {
	sides := []result.Side{c.Base, c.Change}
	if c.Control != nil {
		sides = append(sides, *c.Control)
	}
	var rows [][]string
	for _, s := range sides {
		rows = append(rows, []string{
			doc.Escape(s.Name), doc.Code(filepath.Base(s.Run)), doc.Code(revision(s)), doc.Code(words.OrUnknown(s.Server)), fmt.Sprint(s.Rounds),
		})
	}
	p.Table([]string{"side", "run", "commit", "server binary, SHA-256", ">rounds"}, rows)
}

// comparisonLimits lists what a comparison does not show.
func comparisonLimits(c *comparison) []string {
	list := []string{
		"Other loads. This is one scenario on one host: a change may lose there what it gains here.",
		"Changes smaller than the detectable one. A metric without a finding may still have changed by less.",
	}
	if c.Duet != nil {
		list = duetLimits(c)
	}
	if !c.Paired {
		list = append(list, "The host's own drift. The runs were measured at different times: changes of the host between them affect the ratio, and no control shows by what amount.")
	}
	for _, s := range []result.Side{c.Base, c.Change} {
		if s.Dirty {
			list = append(list, fmt.Sprintf("The commit of the %s alone. Its working tree had uncommitted changes.", doc.Escape(s.Name)))
		}
	}
	return list
}
