package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// HistoryText renders series for a terminal: for each series a table of its figures, and a line for
// each change point. It ends with a newline, and is empty without a series.
func HistoryText(all []history.Tracked) string {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(keyParts(t.Key, unmarked), ", "), render.Plural(t.Records, "record"))
		table := render.Table{Header: []string{"FIGURE", "UNIT", ">RECORDS", "DRIFT SINCE", ">THEN", ">DRIFT", "NEWEST COMMIT", ">NEWEST"}}
		var changes []string
		for _, track := range t.Tracks {
			newest := track.Samples[len(track.Samples)-1]
			row := []string{trackName(track, unmarked), track.Unit, fmt.Sprint(len(track.Samples) + track.Older), "-", "-", "-"}
			if d := track.Drift; d != nil {
				row[3], row[4], row[5] = sinceText(d, unmarked), render.Number(d.From.Median), driftText(track)
			}
			table.Rows = append(table.Rows, append(row, render.Commit(newest.Commit), render.Number(newest.Median)))
			for _, c := range track.Changes {
				changes = append(changes, fmt.Sprintf("  %s %s\n", trackName(track, unmarked), changeText(track, c, unmarked)))
			}
		}
		if len(table.Rows) > 0 {
			b.WriteString(table.Text("  "))
		}
		if not := notPassText(t, unmarked); not != "" {
			fmt.Fprintf(&b, "  records that do not pass: %s\n", not)
		}
		if few := tooFewText(t, unmarked); few != "" {
			fmt.Fprintf(&b, "  %s\n", few)
		}
		b.WriteString(strings.Join(changes, ""))
	}
	return b.String()
}

// unmarked returns a name unchanged for a terminal; code marks it on a page.
func unmarked(name string) string { return name }

// keyParts describes a series: the scenario first, and then the conditions.
func keyParts(k history.Key, mark func(string) string) []string {
	parts := []string{mark(k.Scenario)}
	if k.Point != "" {
		parts = append(parts, "point "+mark(k.Point))
	}
	host := "host class not known"
	if k.HostClass != "" {
		host = "host class " + mark(k.HostClass)
	}
	return append(parts, "durability "+mark(k.Durability), host, mark(cmp.Or(k.CPUModel, "unknown CPU")), "settings "+mark(k.Settings))
}

func trackName(t history.Track, mark func(string) string) string {
	if t.RelativeTo == "" {
		return mark(t.Metric)
	}
	return mark(t.Metric) + " to " + mark(t.RelativeTo)
}

// changeText describes a change point as the predicate of a sentence.
func changeText(t history.Track, c history.Change, mark func(string) string) string {
	verb := "rose"
	if c.Now.Median < c.Before.Median {
		verb = "fell"
	}
	where := fmt.Sprintf("between commits %s and %s", mark(render.Commit(c.After)), mark(render.Commit(c.Until)))
	levels := fmt.Sprintf("from %s to %s, p = %s", levelText(c.Before), levelText(c.Now), render.Digits(c.P, 2))
	if c.SpreadAlone {
		return fmt.Sprintf("changed its spread %s, without a certain change of its level: %s", where, levels)
	}
	effect := ""
	if c.Ratio != nil {
		effect = fmt.Sprintf(" (%s)", render.Change(*c.Ratio))
	}
	return fmt.Sprintf("%s%s %s, which is %s: %s", verb, effect, where, direction(t.Metric, c.Now.Median-c.Before.Median), levels)
}

// direction reports whether a rise of a metric, or a fall below 0, is better or worse.
func direction(metric string, rise float64) string {
	spec, _ := result.Lookup(metric)
	if (rise > 0) == (spec.Better == result.Higher) {
		return "better"
	}
	return "worse"
}

func levelText(l history.Level) string {
	return fmt.Sprintf("%s (%s to %s, %s)", render.Number(l.Median), render.Number(l.Low), render.Number(l.High), render.Plural(l.N, "record"))
}

func sampleText(s history.Sample) string {
	return fmt.Sprintf("%s (%s to %s)", render.Number(s.Median), render.Number(s.Low), render.Number(s.High))
}

// sinceText names the start of a drift.
func sinceText(d *history.Drift, mark func(string) string) string {
	commit := mark(render.Commit(d.From.Commit))
	if d.Tag == "" {
		return "first record, " + commit
	}
	return fmt.Sprintf("tag %s, %s", mark(d.Tag), commit)
}

func driftText(t history.Track) string {
	d := t.Drift
	if d.Ratio == nil {
		return none
	}
	return render.Change(*d.Ratio)
}

func apartText(d *history.Drift) string {
	if d.Apart {
		return "apart"
	}
	return "overlap"
}

// notPassText lists the records that do not pass, or returns "".
func notPassText(t history.Tracked, mark func(string) string) string {
	if len(t.NotPass) == 0 {
		return ""
	}
	var all []string
	for _, j := range t.NotPass {
		all = append(all, fmt.Sprintf("%s at commit %s, measured %s", j.Verdict, mark(render.Commit(j.Commit)), j.Measured.UTC().Format(time.DateOnly)))
	}
	return strings.Join(all, "; ")
}

// tooFewText lists the figures with too few records for change points, or returns "".
func tooFewText(t history.Tracked, mark func(string) string) string {
	const says = ": change points need at least %d."
	if t.Records < stat.ChangeMinN {
		return render.Plural(t.Records, "record") + fmt.Sprintf(says, stat.ChangeMinN)
	}
	var few []string
	for _, track := range t.Tracks {
		if track.TooFew {
			few = append(few, fmt.Sprintf("%s has %s", trackName(track, mark), render.Plural(len(track.Samples), "record")))
		}
	}
	if len(few) == 0 {
		return ""
	}
	return strings.Join(few, ", ") + fmt.Sprintf(says, stat.ChangeMinN)
}
