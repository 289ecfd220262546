package historypage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// keyParts describes a series: the scenario first, and then the conditions.
func keyParts(k history.Key) []string {
	parts := []string{doc.Code(k.Scenario)}
	if k.Point != "" {
		parts = append(parts, "point "+doc.Code(k.Point))
	}
	host := "host class not known"
	if k.HostClass != "" {
		host = "host class " + doc.Code(k.HostClass)
	}
	return append(parts, "durability "+doc.Code(k.Durability), host, doc.Code(cmp.Or(k.CPUModel, "unknown CPU")), "settings "+doc.Code(k.Settings))
}

func trackName(t history.Track) string {
	if t.RelativeTo == "" {
		return doc.Code(t.Metric)
	}
	return doc.Code(t.Metric) + " to " + doc.Code(t.RelativeTo)
}

// changeText describes a change point as the predicate of a sentence.
func changeText(t history.Track, c history.Change) string {
	verb := "rose"
	if c.Now.Median < c.Before.Median {
		verb = "fell"
	}
	where := fmt.Sprintf("between commits %s and %s", doc.Code(render.Commit(c.After)), doc.Code(render.Commit(c.Until)))
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
func sinceText(d *history.Drift) string {
	commit := doc.Code(render.Commit(d.From.Commit))
	if d.Tag == "" {
		return "first record, " + commit
	}
	return fmt.Sprintf("tag %s, %s", doc.Code(d.Tag), commit)
}

func driftText(d *history.Drift) string {
	if d.Ratio == nil {
		return doc.None
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
func notPassText(t history.Tracked) string {
	if len(t.NotPass) == 0 {
		return ""
	}
	var all []string
	for _, j := range t.NotPass {
		all = append(all, fmt.Sprintf("%s at commit %s, measured %s", j.Verdict, doc.Code(render.Commit(j.Commit)), j.Measured.UTC().Format(time.DateOnly)))
	}
	return strings.Join(all, "; ")
}

// tooFewText lists the figures with too few records for change points, or returns "".
func tooFewText(t history.Tracked) string {
	const says = ": change points need at least %d."
	if t.Records < stat.ChangeMinN {
		return render.Plural(t.Records, "record") + fmt.Sprintf(says, stat.ChangeMinN)
	}
	var few []string
	for _, track := range t.Tracks {
		if track.TooFew {
			few = append(few, fmt.Sprintf("%s has %s", trackName(track), render.Plural(len(track.Samples), "record")))
		}
	}
	if len(few) == 0 {
		return ""
	}
	return strings.Join(few, ", ") + fmt.Sprintf(says, stat.ChangeMinN)
}
