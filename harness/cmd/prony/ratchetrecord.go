package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// nameBytesMax is the maximum length of a name from a hypothesis.
const nameBytesMax = 48

// before returns the part of an experiment's record that is known before the measurement.
func (t *ratchetTask) before(ctx context.Context, args []string) (e experiment.Experiment, err error) {
	f, base, change := t.f, t.sources[0].build, t.sources[1].build
	e = experiment.Experiment{
		Name: cmp.Or(f.name, nameOf(f.hypothesis)), Hypothesis: f.hypothesis, Cost: f.cost, Note: f.note,
		Measurement: &experiment.Measurement{
			Base: base.Commit, Commit: change.Commit, Dirty: change.Dirty, Options: f.options(), Scenario: t.scenario.Name,
			Durability: t.scenario.Topology.Durability, Command: commandText(recorded(args)), Points: len(t.scenario.Points), Tests: strings.Join(f.tests, "; "),
		},
	}
	if e.File, err = t.place(ctx); err != nil {
		return e, err
	}
	subject, err := git(ctx, t.b.root, "log", "-1", "--format=%s", change.Commit)
	if err != nil {
		return e, err
	}
	switch {
	case change.Dirty:
		e.Change = "a working tree on " + subject
	case change.Commit == base.Commit:
		e.Change = "the same source"
	default:
		e.Change = subject
	}
	if options := f.options(); options != "" {
		e.Change += ", with " + options
	}
	return e, nil
}

// nameOf derives a name from a hypothesis: its first words.
func nameOf(hypothesis string) string {
	name := strings.ReplaceAll(result.Slug(hypothesis), "_", "-")
	if len(name) > nameBytesMax {
		name = name[:nameBytesMax]
		if end := strings.LastIndexByte(name, '-'); end > 0 {
			name = name[:end]
		}
	}
	return strings.Trim(name, "-")
}

// options lists how the build and the environment of the change's side differ from the base's.
func (f *ratchetFlags) options() string {
	all := append([]string{}, f.buildEnv...)
	if f.pgo != "" {
		all = append(all, "-pgo="+filepath.Base(f.pgo))
	}
	all = append(all, f.env...)
	for _, v := range f.baseEnv {
		all = append(all, v+" of the base")
	}
	if f.tags != "" {
		all = append(all, "-tags "+f.tags+" of both")
	}
	return strings.Join(all, " ")
}

var hunk = regexp.MustCompile(`(?m)^(?:\+\+\+ b/(.+)|@@ -\S+ \+(\d+).*)$`)

// place returns the location of the change: the given one, or the first line that differs from the
// base; "" if nothing differs.
func (t *ratchetTask) place(ctx context.Context) (string, error) {
	if t.f.file != "" {
		return t.f.file, t.checkPlace(t.f.file)
	}
	diff := []string{"diff", "--unified=0", "--no-color", "--no-ext-diff", t.sources[0].build.Commit}
	if t.f.change != "" {
		diff = append(diff, t.sources[1].build.Commit)
	}
	text, err := git(ctx, t.b.root, diff...)
	if err != nil {
		return "", err
	}
	file := ""
	for _, m := range hunk.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			file = m[1]
		case file != "":
			return file + ":" + m[2], nil
		}
	}
	return "", nil
}

// checkPlace returns an error if a place is not a line of a file of the change.
func (t *ratchetTask) checkPlace(place string) error {
	path, digits, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(digits)
	if err != nil || line < 1 {
		return fmt.Errorf("--file %q must be PATH:LINE", place)
	}
	src, err := os.ReadFile(filepath.Join(t.sources[1].dir, path))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--file %q: the change has no such file; paths are relative to the root of the repository", place)
	}
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	if n := strings.Count(string(src), "\n"); line > n {
		return fmt.Errorf("--file %q: the file has %d lines", place, n)
	}
	return nil
}

// recordOf completes the record of an experiment with the decision and the figures.
func recordOf(e experiment.Experiment, r *result.Ratchet) experiment.Experiment {
	e.Kept, e.Effect = r.Kept, experiment.OneLine(r.Because)
	m := *e.Measurement
	e.Measurement = &m
	m.Started, m.Seconds, m.Generations = r.Started, r.Seconds, r.Generations
	if reason, is := strings.CutPrefix(e.Effect, "disqualified: "); is {
		m.Disqualified = reason
	}
	if s := r.Score; s != nil {
		m.Score = &experiment.Ratio{Ratio: s.Ratio, Low: s.Low, High: s.High}
	}
	figure := func(f result.RatchetFigure, worse bool) {
		m.Figures = append(m.Figures, experiment.Figure{
			Metric: f.Metric, Point: f.Point, Unit: f.Unit, Base: f.Base, Change: f.Change, Worse: worse,
			Ratio: experiment.Ratio{Ratio: f.Ratio, Low: f.Low, High: f.High},
		})
	}
	worse := map[string]bool{}
	for _, f := range r.Worse {
		worse[f.Metric+" "+f.Point] = true
	}
	for _, f := range r.Figures {
		figure(f, worse[f.Metric+" "])
		delete(worse, f.Metric+" ")
	}
	rest := slices.DeleteFunc(slices.Clone(r.Worse), func(f result.RatchetFigure) bool { return !worse[f.Metric+" "+f.Point] })
	slices.SortStableFunc(rest, func(a, b result.RatchetFigure) int { return cmp.Compare(farFrom1(b), farFrom1(a)) })
	m.MoreWorse = max(0, len(rest)-worseMax)
	for _, f := range rest[:len(rest)-m.MoreWorse] {
		figure(f, true)
	}
	return e
}

// worseMax is the maximum number of worsened figures of points and of fixed work in a record. It
// keeps those with the largest ratios.
const worseMax = 8

// farFrom1 returns the distance of a figure's ratio from 1, in either direction.
func farFrom1(f result.RatchetFigure) float64 { return math.Abs(math.Log(f.Ratio)) }

func hostInWords(h result.Host) string {
	words := []string{render.Plural(h.CPUs, "CPU"), cmp.Or(h.CPUModel, "unknown model")}
	for _, more := range []string{h.Filesystem, h.Kernel} {
		if more != "" {
			words = append(words, more)
		}
	}
	return strings.Join(words, ", ")
}

// commandText formats a command line for display, with shell quotes if needed.
func commandText(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	if len(quoted) > 0 {
		quoted[0] = "prony" // independent of the path and the name of the binary
	}
	return strings.Join(quoted, " ")
}

// sayRatchet prints a decision.
func sayRatchet(w io.Writer, name string, r *result.Ratchet) {
	decision := "nothing is decided: " + string(r.Verdict)
	switch {
	case r.Kept:
		decision = "kept"
	case r.Decided:
		decision = "rejected"
	}
	say(w, "ratchet %s: %s: %s", name, decision, r.Because)
	if r.Measured > 0 {
		say(w, "  %d of %d generations count, %.0f s, durability %s", r.Generations, r.Measured, r.Seconds, r.Durability)
	}
	line := func(f result.RatchetFigure) string {
		where := ""
		if f.Point != "" {
			where = " at " + f.Point
		}
		return fmt.Sprintf("%s%s: %s to %s %s, ratio %s", f.Metric, where, render.Number(f.Base), render.Number(f.Change), f.Unit, gate.RatioText(f.Ratio, f.Low, f.High))
	}
	for _, f := range r.Figures {
		say(w, "  %s", line(f))
	}
	if len(r.Worse) > 0 {
		say(w, "  certainly worse:")
	}
	for _, f := range r.Worse {
		say(w, "    %s", line(f))
	}
	for _, warning := range r.Warnings {
		say(w, "  warning: %s", warning)
	}
}
