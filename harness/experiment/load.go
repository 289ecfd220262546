package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	// bytesMax bounds the size of a ledger in bytes. A ledger of this size contains some thousand
	// experiments.
	bytesMax = 2 << 20
	// textMax bounds the length of each text in bytes.
	textMax = 2000
	nameMax = 80
	// countMax bounds the number of generations and the number of points.
	countMax = 1_000_000
)

var (
	fileNames       = hclfile.Names{Blocks: []string{"experiment"}}
	experimentBlock = hclfile.Inner{
		Names: hclfile.Names{
			Attributes: []string{"named_by", "hypothesis", "change", "file", "code", "effect", "cost", "measured", "kept", "kept_for", "note"},
			Blocks:     []string{"ratchet"},
		},
		Label: "name", Example: `experiment "NAME" { ... }`,
	}
	ratchetBlock = hclfile.Inner{
		Names: hclfile.Names{
			Attributes: []string{
				"started", "base", "commit", "dirty", "options", "scenario", "durability", "command", "host", "go", "seconds", "generations", "points", "tests", "disqualified", "more_worse",
			},
			Blocks: []string{"score", "figure"},
		},
		Example: "ratchet { ... }", Once: true,
	}
	scoreBlock  = hclfile.Inner{Names: hclfile.Names{Attributes: []string{"ratio", "low", "high"}}, Example: "score { ratio = 0.98 ... }", Once: true}
	figureBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: []string{"point", "unit", "base", "change", "ratio", "low", "high", "worse"}},
		Label: "metric", Example: `figure "cycles_per_s" { ... }`,
	}
)

// Load returns the experiments of the ledger at path in file order. The error is a
// *hclfile.Diagnostics that lists every problem.
func Load(path string) ([]Experiment, error) {
	r := hclfile.Reader{BytesMax: bytesMax, LineBytesMax: 2 * textMax}
	return read(&r, r.File(path, fileNames))
}

func parse(name string, src []byte) ([]Experiment, error) {
	r := hclfile.Reader{BytesMax: bytesMax, LineBytesMax: 2 * textMax}
	return read(&r, r.Source(name, src, fileNames))
}

func read(r *hclfile.Reader, root *hclfile.Block) (all []Experiment, err error) {
	if root != nil {
		first := map[string]string{}
		for _, b := range root.Blocks("experiment", experimentBlock) {
			e := readExperiment(b)
			if where, twice := first[e.Name]; twice {
				b.LabelProblem(fmt.Sprintf("experiment %q is defined twice", e.Name), "the first is at "+where+"; rename one of the two")
			}
			first[e.Name] = b.Where()
			all = append(all, e)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

func text(b *hclfile.Block, name string, required bool) string {
	return b.Text(name, hclfile.TextSpec{MaxBytes: textMax, Required: required, Example: "..."})
}

func readExperiment(b *hclfile.Block) Experiment {
	e := Experiment{Name: b.Label(), Measurement: readMeasurement(b)}
	if problem := checkName(e.Name); problem != "" {
		b.LabelProblem(fmt.Sprintf("%q is not a valid experiment name", e.Name), problem)
	}
	byPerson := e.Measurement == nil
	e.NamedBy, e.Hypothesis, e.Change = text(b, "named_by", byPerson), text(b, "hypothesis", true), text(b, "change", true)
	e.File, e.Code, e.Effect, e.Cost = text(b, "file", false), text(b, "code", false), text(b, "effect", true), text(b, "cost", !byPerson)
	e.Measured, e.KeptFor, e.Note = text(b, "measured", false), text(b, "kept_for", false), text(b, "note", false)
	if path, declaration := e.InCode(); e.Code != "" && (declaration == "" || !filepath.IsLocal(path)) {
		b.AttrProblem("code", fmt.Sprintf("%q is not a location in the code", e.Code), `write the path from the root of the repository and the beginning of a line: "engine/a.go: func run"`)
	}
	if !b.Has("kept") {
		b.Problem(fmt.Sprintf("%s has no attribute kept", b), "add kept = true or kept = false")
	}
	e.Kept = b.Bool("kept")
	if m := e.Measurement; m != nil && e.Kept && (m.Score == nil || m.Disqualified != "") {
		b.AttrProblem("kept", fmt.Sprintf("%s has kept = true, but its measurement has no score or disqualifies it", b), "write kept = false")
	} else if m != nil && e.Kept && m.Score.High >= 1 && e.KeptFor == "" {
		b.AttrProblem("kept", fmt.Sprintf("%s has kept = true, but the interval of its score extends to %v: it may have no effect", b, m.Score.High),
			`write kept = false, or give the reason for keeping it: kept_for = "..."`)
	}
	if e.KeptFor != "" && !e.Kept {
		b.AttrProblem("kept_for", fmt.Sprintf("%s was rejected, but has kept_for", b), "remove kept_for, or write kept = true")
	}
	return e
}

func checkName(name string) string {
	if name == "" || len(name) > nameMax || strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '\''
	}) {
		return fmt.Sprintf("a name is 1 to %d of the characters a-z, 0-9, - and '", nameMax)
	}
	return ""
}

func readMeasurement(e *hclfile.Block) *Measurement {
	blocks := e.Blocks("ratchet", ratchetBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	m := &Measurement{
		Base: text(b, "base", true), Commit: text(b, "commit", true), Dirty: b.Bool("dirty"), Options: text(b, "options", false),
		Scenario: text(b, "scenario", true), Durability: text(b, "durability", false), Command: text(b, "command", true), Host: text(b, "host", false),
		Go: text(b, "go", false), Tests: text(b, "tests", false), Disqualified: text(b, "disqualified", false),
		Generations: b.Int("generations", hclfile.IntSpec{Max: countMax}), Points: b.Int("points", hclfile.IntSpec{Max: countMax}), MoreWorse: b.Int("more_worse", hclfile.IntSpec{Max: countMax}),
	}
	if b.Has("seconds") {
		m.Seconds, _ = b.Number("seconds", hclfile.NumberSpec{AllowZero: true, Example: "140"})
	}
	if at := text(b, "started", true); at != "" {
		var err error
		if m.Started, err = time.Parse(time.RFC3339, at); err != nil {
			b.AttrProblem("started", fmt.Sprintf("started is %q, which is not a time", at), `write it as "2026-11-24T03:50:12Z"`)
		}
	}
	for _, s := range b.Blocks("score", scoreBlock) {
		m.Score = new(readRatio(s))
	}
	if m.Score == nil && m.Disqualified == "" {
		b.Problem("ratchet has neither a score nor a reason that disqualifies the change", "add "+scoreBlock.Example)
	}
	first := map[string]string{}
	for _, f := range b.Blocks("figure", figureBlock) {
		figure := readFigure(f)
		key := figure.Metric + " " + figure.Point
		if where, twice := first[key]; twice {
			f.LabelProblem(fmt.Sprintf("the figure %s is defined twice", strings.TrimSpace(key)), "the first is at "+where+"; keep one of the two")
		}
		first[key] = f.Where()
		m.Figures = append(m.Figures, figure)
	}
	return m
}

func readFigure(b *hclfile.Block) Figure {
	f := Figure{Metric: b.Label(), Point: text(b, "point", false), Unit: text(b, "unit", false), Worse: b.Bool("worse")}
	f.Base, _ = b.Number("base", hclfile.NumberSpec{Required: true, AllowZero: true, Example: "1"})
	f.Change, _ = b.Number("change", hclfile.NumberSpec{Required: true, AllowZero: true, Example: "1"})
	f.Ratio = readRatio(b)
	return f
}

// readRatio reads the attributes ratio, low and high. It reports a problem unless low <= ratio <=
// high.
func readRatio(b *hclfile.Block) (r Ratio) {
	r.Low, _ = b.Number("low", hclfile.NumberSpec{Required: true, Example: "0.95"})
	r.Ratio, _ = b.Number("ratio", hclfile.NumberSpec{Required: true, Example: "0.98"})
	r.High, _ = b.Number("high", hclfile.NumberSpec{Required: true, Example: "1.01"})
	if sound := r.Low > 0 && r.Ratio > 0 && r.High > 0; sound && (r.Low > r.Ratio || r.Ratio > r.High || math.IsInf(r.High, 0)) {
		b.AttrProblem("ratio", fmt.Sprintf("the ratio %v is not in its interval, %v to %v", r.Ratio, r.Low, r.High), "expected low <= ratio <= high")
	}
	return r
}
