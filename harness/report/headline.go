package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// Headline returns a Markdown table with the rate of the run published in a folder, such as
// reports/data/default, and its conditions: CPU time of both sides, durability, the settings of
// timed rounds that differ from their defaults, rounds, host and commit. If the run breaks limits,
// the first row is the verdict. The error lists all reasons why the run cannot be a headline: an
// incomplete or incorrect run, a figure that is missing or not above 0, a sweep, or a condition
// that was not recorded.
func Headline(limits *gate.Baselines, dir string) (string, error) {
	r, err := result.ReadResult(filepath.Join(dir, result.ResultFile))
	if err != nil {
		return "", err
	}
	judged := Judge(limits, r)
	h := headline{result: r}
	m := r.Manifest
	if r.Verdict == result.Incorrect || incomplete(r) != "" {
		h.lacks("its verdict is %s", r.Verdict)
	}
	if len(r.Points) > 0 {
		h.lacks("it has a sweep, whose points have different rates")
	}
	if len(r.TimedProfiled()) > 0 {
		h.lacks("its servers were profiled in timed rounds")
	}
	for _, reason := range m.Unpublishable() {
		h.lacks("%s", reason)
	}
	timed, _ := runs.Split(r.Rounds)
	var rows [][]string
	if r.Verdict != result.Pass {
		rows = append(rows, []string{"verdict", fmt.Sprintf("**%s**: %s", r.Verdict, doc.Escape(Why(judged)))})
	}
	rows = append(rows, [][]string{
		{"cycles a second", h.figure(result.CyclesPerS)},
		{"CPU of the servers, µs a cycle", h.figure(result.ServerCPUUsPerCycle)},
		{"CPU of the load generator, µs a cycle", h.figure(result.ClientCPUUsPerCycle)},
		{"durability", doc.Code(h.recorded("durability", m.Scenario.Topology.Durability))},
		{"settings that differ from their defaults", h.settings()},
		{"rounds", fmt.Sprintf("%s; %s", plan(r.Rounds), result.Spread(len(timed), "round"))},
		{"host", h.host()},
		{"commit", doc.Code(h.recorded("commit", m.Build.Commit))},
		{"measured (UTC)", h.recorded("start time", words.Moment(r.Started))},
		{"command", h.recorded("command", Command(m))},
	}...)
	if len(h.missing) > 0 {
		return "", fmt.Errorf("%s cannot be a headline: %s: publish another run with 'prony report --publish reports RUN'", dir, strings.Join(h.missing, "; "))
	}
	p := &doc.Document{}
	p.Table([]string{"what", "value"}, rows)
	p.Paragraph("All figures of this run are on the page of %s.", doc.Code(r.Scenario))
	return p.Markdown(), nil
}

// headline collects missing values while its rows are made.
type headline struct {
	result  *result.Result
	missing []string
}

func (h *headline) lacks(format string, args ...any) {
	h.missing = append(h.missing, fmt.Sprintf(format, args...))
}

func (h *headline) figure(name string) string {
	m, has := h.result.Metrics[name]
	if !has || m.N == 0 || !(m.Median > 0) {
		h.lacks("it has no %s", name)
		return ""
	}
	return interval(m) + inBare(h.result.Bare(result.Point{}), name, m)
}

// recorded returns a value that the run must have.
func (h *headline) recorded(what, value string) string {
	if value == "" {
		h.lacks("its %s was not recorded", what)
	}
	return value
}

func (h *headline) settings() string {
	s := h.result.Manifest.Scenario
	if s.Topology.Kind == "" {
		h.lacks("its scenario was not recorded")
	}
	var differ []string
	for _, setting := range TimedSettings(&s) {
		differ = append(differ, fmt.Sprintf("%s = %s (default %s)", doc.Code(setting.Path), doc.Code(setting.Value), doc.Code(setting.Default)))
	}
	if len(differ) == 0 {
		return "none"
	}
	return strings.Join(differ, ", ")
}

func (h *headline) host() string {
	of := h.result.Manifest.Host
	if of.CPUs == 0 {
		h.lacks("the number of its host's CPUs was not recorded")
	}
	h.recorded("host's kernel", strings.TrimSpace(of.OS+" "+of.Kernel))
	h.recorded("host's virtualisation", of.Virtualisation)
	h.recorded("host's container", of.Container)
	words := HostWords(of)
	if conditions := ConditionWords(of); conditions != "" {
		words += "; " + conditions
	}
	return words
}
