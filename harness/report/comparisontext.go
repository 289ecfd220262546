package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// marks are the first column of the table, which highlights problems.
var marks = map[result.Outcomes]string{
	result.Worsened: "FAIL", result.Improved: "good", result.Same: "ok", result.Unclear: "?", result.Expected: "ok",
}

// ComparisonText renders a comparison as plain text for a terminal or a log: the verdict and its
// subject, a table of the metrics, the reasons, and the causes. It ends with a newline.
func ComparisonText(c *result.Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s\n", cmp.Or(c.Scenario, "unknown scenario"), c.Verdict, comparedSides(c))
	if c.Duet != nil {
		duetText(&b, c)
	} else if len(c.Metrics) > 0 {
		b.WriteString("\n")
		b.WriteString(deltaTable(c).Text("  ") + "\n")
	}
	if len(c.Hosts) > 0 {
		t := render.Table{Header: []string{"host", "base", "change"}}
		for _, h := range c.Hosts {
			t.Rows = append(t.Rows, []string{h.Name, words.OrUnknown(h.Base), words.OrUnknown(h.Change)})
		}
		b.WriteString(t.Text("  ") + "\n")
	}
	for _, reason := range c.Reasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	for _, s := range []result.Side{c.Base, c.Change} {
		if s.Bound != nil {
			fmt.Fprintf(&b, "  %s is %s\n", s.Name, s.Bound.Sentence)
		}
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	if c.Duet != nil {
		marksText(&b, c.Duet.Marks)
	}
	switch {
	case c.Search != nil:
		fmt.Fprintf(&b, "  %s\n  %s\n", searchText(c.Search), foundText(c))
	case len(c.Causes) > 0:
		b.WriteString("  causes, the most likely first:\n")
	}
	for i, cause := range c.Causes {
		fmt.Fprintf(&b, "    %d. %s\n", i+1, cause.Sentence)
	}
	return b.String()
}

// comparedSides describes the compared builds.
func comparedSides(c *result.Comparison) string {
	text := fmt.Sprintf("base %s, change %s", shortCommit(c.Base), shortCommit(c.Change))
	if c.Base.Server != "" && c.Base.Server == c.Change.Server && len(c.Base.Server) == 64 {
		text += " (the same binary)"
	}
	if c.Duet != nil {
		return text + "; " + lookText(c)
	}
	if c.Paired {
		rounds := 2
		if c.Control != nil {
			rounds = 3
		}
		text += fmt.Sprintf("; %d blocks of %d rounds", c.Blocks, rounds)
		if c.Dropped > 0 {
			text += fmt.Sprintf(", %d dropped", c.Dropped)
		}
		return text
	}
	return text + fmt.Sprintf("; %d and %d rounds", c.Base.Rounds, c.Change.Rounds)
}

func shortCommit(s result.Side) string {
	if s.Dirty {
		return render.Commit(s.Commit) + " with changes"
	}
	return render.Commit(s.Commit)
}

// deltaTable returns the table of the metrics, with a mark for each.
func deltaTable(c *result.Comparison) render.Table {
	t := render.Table{Header: []string{"", "metric", "unit", ">base", ">change", ">difference", ">95 % interval", ">control", "verdict"}}
	bare := slices.ContainsFunc(c.Metrics, func(d result.MetricDelta) bool { return d.BaseOfBare != nil || d.ChangeOfBare != nil })
	if bare {
		t.Header = append(t.Header, ">base of bare", ">change of bare")
	}
	for _, d := range c.Metrics {
		row := []string{marks[d.Outcome], d.Metric, d.Unit, shortMedian(d.Base), shortMedian(d.Change), "-", "-", "-", string(d.Outcome)}
		switch base, change := d.Base.Median, d.Change.Median; {
		case d.Outcome == result.NotJudged && base > 0 && change > 0:
			row[5] = render.Change(change / base)
		case d.Ratio > 0:
			row[5], row[6] = render.Change(d.Ratio), render.Change(d.RatioLow)+" to "+render.Change(d.RatioHigh)
		}
		if d.ControlRatio > 0 {
			row[7] = render.Change(d.ControlRatioLow) + " to " + render.Change(d.ControlRatioHigh)
		}
		if bare {
			row = append(row, shareText(d.BaseOfBare), shareText(d.ChangeOfBare))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func shareText(share *result.Metric) string {
	if share == nil {
		return "-"
	}
	return render.Digits(share.Median, 3)
}

func shortMedian(m result.Metric) string {
	if m.N == 0 {
		return "missing"
	}
	return render.Digits(m.Median, 4)
}
