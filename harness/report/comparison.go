package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
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
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	name := comparisonName(c.Comparison)
	ratios := figure{file: name + "-ratios.svg", caption: "Ratio of the change to the base for each metric, with its interval and the control's"}
	if c.Duet != nil {
		ratios.caption += ", and for each generation"
	}
	if c.Verdict != result.Incorrect {
		if ratios.svg, err = ratioPlot(c); err != nil && !errors.Is(err, errNothingToPlot) {
			return nil, fmt.Errorf("report on %s: %w", in, err)
		}
	}
	same, err := sameFolder(in, out)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	pageName := name + ".md"
	if same {
		pageName = ComparisonPage
	}
	return writeFiles(out, pageName, []figure{ratios}, comparisonMarkdown(c, ratios))
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
	if len(reasons) > 0 {
		return nil, &UnpublishableError{Of: dir, Reasons: reasons}
	}
	data := filepath.Join(reportsDir, dataDir, comparisonName(c.Comparison))
	if err := copyPacked(dir, data, c.files); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return renderComparison(data, PagesFolder(reportsDir))
}

func comparisonMarkdown(c *comparison, ratios figure) string {
	p := &page{}
	durability := c.manifest.Durability()
	p.heading(1, "%s: a change against its base", text(orUnknown(c.Scenario)))
	p.paragraph("Verdict: **%s**. Scenario %s, durability %s: %s.", text(string(c.Verdict)), code(c.Scenario), code(durability), howCompared(c.Comparison))
	listed(p, "Reasons for the verdict:", c.Reasons)
	listed(p, "Warnings:", c.Warnings)
	if c.Verdict == result.Incorrect {
		p.paragraph("The ledger of a side does not balance, so no figure is published.")
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
	p.heading(2, "What this page does not measure")
	p.list(comparisonLimits(c))
	return p.String()
}

// listed writes a list of foreign text under an introduction.
func listed(p *page, what string, items []string) {
	if len(items) == 0 {
		return
	}
	p.paragraph("%s", what)
	var list []string
	for _, item := range items {
		list = append(list, text(item))
	}
	p.list(list)
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

func deltasSection(p *page, c *comparison, durability string) {
	if len(c.Metrics) == 0 {
		return
	}
	p.heading(2, "Metrics, durability %s", code(durability))
	p.paragraph("The ratio is that of the change to the base, with its 95 %% interval. The control is a second measurement of the base in the same run," +
		" so its ratio shows the noise. p is adjusted for the number of judged timings. Detectable is the smallest change that these rounds can" +
		" detect, and least the smallest that matters: if the first is larger, the absence of a difference shows nothing.")
	var rows [][]string
	for _, d := range c.Metrics {
		judged := []string{none, none, none}
		if d.Ratio > 0 {
			judged = []string{render.Number(d.PAdjusted), partOrNone(d.Detectable), render.Percent(d.Effect)}
		}
		row := []string{
			code(d.Metric), unit(d.Unit), side(d.Base), side(d.Change), ratio(d.Ratio, d.RatioLow, d.RatioHigh),
			ratio(d.ControlRatio, d.ControlRatioLow, d.ControlRatioHigh),
		}
		rows = append(rows, append(append(row, judged...), "**"+text(string(d.Outcome))+"**"))
	}
	p.table([]string{
		"metric", "unit", ">base", ">change", ">ratio", ">control", ">p, adjusted", ">detectable", ">least", "outcome",
	}, rows)
	reasonsOf(p, c.Metrics)
}

// boundsSection shows the limiting resource of each side.
func boundsSection(p *page, c *comparison, durability string) {
	var list []string
	for _, s := range []result.Side{c.Base, c.Change} {
		if s.Bound != nil {
			list = append(list, text(s.Name)+": "+text(s.Bound.Sentence))
		}
	}
	if len(list) == 0 {
		return
	}
	p.heading(2, "What limits the rate, durability %s", code(durability))
	rule := limitsRule
	if c.Duet != nil {
		rule = "The figures are those of the closed load in the side's own slices. A resource limits the rate if at least 85 % of it is in use, and a lock" +
			" if at least one goroutine on average waits for it in the profiled generations."
	}
	p.paragraph("%s", rule)
	p.list(list)
}

// reasonsOf lists the reason for each metric's outcome.
func reasonsOf(p *page, metrics []result.MetricDelta) {
	var because []string
	for _, d := range metrics {
		if d.Because != "" {
			because = append(because, fmt.Sprintf("%s: %s", code(d.Metric), text(d.Because)))
		}
		for _, w := range d.Warnings {
			because = append(because, fmt.Sprintf("%s: warning: %s", code(d.Metric), text(w)))
		}
	}
	p.list(because)
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
		return none
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f)", v, low, high)
}

func partOrNone(v float64) string {
	if v <= 0 {
		return "none"
	}
	return render.Percent(v)
}

func plotOfComparison(p *page, c *comparison, ratios figure, durability string) {
	if ratios.svg == nil {
		return
	}
	p.paragraph("![%s, durability %s](%s)", text(ratios.caption), text(durability), ratios.file)
	p.paragraph("*%s. Durability %s, base %s, change %s, %s.*", ratios.caption, code(durability), code(revision(c.Base)),
		code(revision(c.Change)), machine(c.manifest.Host))
}

func revision(s result.Side) string { return result.Build{Commit: s.Commit, Dirty: s.Dirty}.Revision() }

// profileDeltasSection lists the functions whose share differs significantly.
func profileDeltasSection(p *page, c *comparison, durability string) {
	if len(c.Profiles) == 0 {
		return
	}
	p.heading(2, "Functions that differ, durability %s", code(durability))
	p.paragraph("Cost per cycle in the profiled rounds, of the functions whose difference has an interval (bootstrap over rounds) that excludes zero.")
	var rows [][]string
	for i, d := range c.Profiles {
		if i == profileDeltasMax {
			break
		}
		rows = append(rows, []string{
			code(d.Kind), code(d.Function), render.Amount(d.Base, d.Unit), render.Amount(d.Change, d.Unit), render.Amount(d.Change-d.Base, d.Unit),
			render.Amount(d.Low, d.Unit) + " to " + render.Amount(d.High, d.Unit), render.Amount(d.BaseCum, d.Unit), render.Amount(d.ChangeCum, d.Unit),
		})
	}
	p.table([]string{"profile", "function", ">base", ">change", ">difference", ">interval", ">base, with callees", ">change, with callees"}, rows)
	if left := len(c.Profiles) - len(rows); left > 0 {
		p.paragraph("%s more are in the comparison.", render.Plural(left, "function"))
	}
}

// sidesSection describes the compared sides and the host.
func sidesSection(p *page, c *comparison) {
	p.heading(2, "Provenance")
	if c.Duet != nil {
		duetSidesTable(p, c)
	} else {
		armsTable(p, c)
	}
	host := c.manifest.Host
	table := [][]string{
		{"command", code(commandLine(c.manifest.Command))},
		{"durability", code(c.manifest.Durability())},
		{"started (UTC)", moment(c.Started)},
		{"finished (UTC)", moment(c.Finished)},
		{"kernel", text(host.Kernel)},
		{"CPU", text(host.CPUModel)},
		{"CPUs", known(float64(host.CPUs), "")},
		{"GOMAXPROCS of the generator", known(float64(host.GOMAXPROCS), "")},
		{"memory", known(host.MemoryMB, "MB")},
		{"file system of the data", text(host.Filesystem)},
		{"fsync latency there", fsyncText(host)},
	}
	for i := range table {
		table[i][1] = orUnknown(table[i][1])
	}
	p.table([]string{"what", "value"}, table)
	if s := &c.manifest.Scenario; s.Topology.Kind != "" { // the manifest was recorded
		differingSettings(p, s)
	}
	if c.Duet != nil {
		p.paragraph("Phases and rounds apply to a comparison in interleaved rounds: a duet has its own lengths.")
		duetServersSection(p, c)
	}
}

func armsTable(p *page, c *comparison) {
	sides := []result.Side{c.Base, c.Change}
	if c.Control != nil {
		sides = append(sides, *c.Control)
	}
	var rows [][]string
	for _, s := range sides {
		rows = append(rows, []string{
			text(s.Name), code(filepath.Base(s.Run)), code(revision(s)), code(orUnknown(s.Server)), fmt.Sprint(s.Rounds),
		})
	}
	p.table([]string{"side", "run", "commit", "server binary, SHA-256", ">rounds"}, rows)
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
			list = append(list, fmt.Sprintf("The commit of the %s alone. Its working tree had uncommitted changes.", text(s.Name)))
		}
	}
	return list
}
