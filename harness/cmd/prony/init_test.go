package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/scenario"
)

// The file is a valid scenario with the settings of the flags.
func TestInitWritesWhatIsAskedFor(t *testing.T) {
	inFolder(t)
	payloads := map[string]string{"64": "fixed(64)", "4KiB": "fixed(4096)", "64-1KiB": "uniform(64, 1024)", "32-1MiB": "uniform(32, 1048576)"}
	number := 0
	for rate, arrivals := range map[string]string{"closed": "closed()", "800/s": `rate("800/s")`, "1.5M/s": `rate("1.5M/s")`} {
		for payload, call := range payloads {
			for latency, limit := range map[string]float64{"": 0, "50ms": 50, "1.5s": 1500, "250us": 0.25} {
				for _, durability := range []string{"sync", "interval", "none"} {
					for _, topology := range []string{"single", "sharded", "raft", "embedded"} {
						number++
						name := fmt.Sprintf("s-%d", number)
						args := []string{"init", name, "--rate", rate, "--payload", payload, "--latency-max", latency, "--durability", durability, "--topology", topology}
						got := prony(t, args...)
						require.Equal(t, 0, got.code, "%v: %s", args, got.stderr)
						all, err := scenario.LoadChecked(nil, scenario.Checks{Limit: gate.CheckLimit}, name+".hcl")
						require.NoError(t, err, args)
						s := all[0]
						assert.Equal(t, name, s.Name)
						assert.Equal(t, []string{topology, durability}, []string{s.Topology.Kind, s.Topology.Durability})
						w := s.Workloads[0]
						assert.Equal(t, []string{arrivals, call}, []string{w.Arrivals.String(), w.Payload.String()})
						if latency == "" {
							assert.Empty(t, s.Limits)
						} else {
							require.Len(t, s.Limits, 1)
							assert.InDelta(t, limit, *s.Limits[0].Max, 1e-9)
							assert.Equal(t, "cycle_latency_ms_p99", s.Limits[0].Metric)
						}
						var text strings.Builder
						writeExplanation(&text, s, explain(s))
						assert.Contains(t, text.String(), name)
						require.NoError(t, os.Remove(name+".hcl"))
					}
				}
			}
		}
	}
	assert.Equal(t, 3*4*4*3*4, number)
}

// The first file of a new user, with its comments, and the suggested commands.
func TestInit(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	inFolder(t)
	require.NoError(t, os.Mkdir(defaultScenarios, 0o700))
	var text strings.Builder
	for _, args := range [][]string{
		{"init", "first"},
		{"init", "second", "--rate", "2k/s", "--payload", "4KiB", "--latency-max", "50ms", "--durability", "none", "--topology", "embedded", "--out", "other.hcl"},
		{"init", "third", "--topology", "raft", "--payload", "64"},
	} {
		got := prony(t, args...)
		require.Equal(t, 0, got.code, got.stderr)
		assert.Empty(t, got.stderr, "no questions without a terminal")
		_, rest, _ := strings.Cut(got.stdout, "wrote ")
		file, _, _ := strings.Cut(rest, ":")
		written, err := os.ReadFile(file)
		require.NoError(t, err)
		fmt.Fprintf(&text, "$ prony %s\n%s-- %s\n%s", strings.Join(args, " "), got.stdout, file, written)
		checked := prony(t, "validate", file)
		assert.Equal(t, 0, checked.code, checked.stderr)
		for line := range strings.Lines(got.stdout) {
			if command, is := strings.CutPrefix(line, "  prony "); is {
				command, _, _ = strings.Cut(command, "   ")
				accepted(t, strings.Fields(strings.Split(command, "  ")[0]))
			}
		}
	}
	golden := filepath.Join(here, "testdata", "init.golden")
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "run with -rewrite and read the difference")

	got := prony(t, "init", "fourth", "--json", "--latency-max", "1s")
	require.Equal(t, 0, got.code, got.stderr)
	var b begun
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &b))
	assert.Equal(t, "scenarios/fourth.hcl", b.File)
	require.Len(t, b.Next, 4)
	assert.Equal(t, "prony check", b.Next[3].Command)
}

// Existing files are not overwritten, and each invalid value has one error.
func TestInitRefuses(t *testing.T) {
	inFolder(t)
	write(t, "taken.hcl", "mine")
	write(t, "scenarios/many.hcl", tiny("one", "100ms", "")+tiny("two", "100ms", ""))
	require.NoError(t, os.Symlink("nowhere", "dangling.hcl"))
	for line, says := range map[string]string{
		"init taken --out taken.hcl": "taken.hcl already exists: choose another name, name another file with --out, or remove it",
		"init many":                  "scenarios/many.hcl already exists: ",
		"init x --out dangling.hcl":  "dangling.hcl already exists: ",
		"init two":                   `scenario "two" already exists in scenarios/many.hcl: choose another name`,
		"init x --out scenarios":     "--out scenarios is a folder: name the file, for example scenarios/x.hcl",
		"init x --out x.txt":         "--out x.txt must end in .hcl: write x.txt.hcl",
		"init x --out none/x.hcl":    "--out none/x.hcl: there is no folder none: make it first",
		"init Big":                   `"Big" is not a name for a scenario: a name has 1 to 64 of the characters a-z, 0-9 and -`,
		"init x --rate fast":         `--rate: "fast" is not a rate: write a rate such as 800/s, 2k/s or 1.5M/s, or "closed"`,
		"init x --rate 0/s":          `--rate: the rate is "0/s"; it must be from 1/s to 100M/s: write `,
		"init x --payload 4KB":       `--payload: "4KB" is not a size: write a size such as 64 or 4KiB, or a range such as 64-256`,
		"init x --payload 8":         "--payload: a payload of 8 bytes is too small; the smallest is 32 bytes: write ",
		"init x --payload 2MiB":      "--payload: a payload of 2097152 bytes is too large; the largest is 1MiB: write ",
		"init x --payload 256-64":    `--payload: range "256-64" is reversed: write 64-256`,
		"init x --latency-max 50":    `--latency-max: "50" is not a duration between 1us and 1h: write a number with its unit, such as 50ms or 1.5s`,
		"init x --latency-max 2h":    `--latency-max: "2h" is not a duration between 1us and 1h`,
		"init x --durability often":  `--durability: "often" is not one of sync, interval, none`,
		"init x --topology remote":   `--topology: "remote" is not one of single, sharded, raft, embedded`,
	} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code, line)
		assert.Contains(t, got.stderr, "prony: "+says, line)
		assert.Equal(t, 1, strings.Count(got.stderr, "\n"), "one error: %s", got.stderr)
	}
	got := prony(t, "init", "x", "--rate", "fast", "--payload", "8", "--topology", "remote")
	assert.Equal(t, 3, strings.Count(got.stderr, "\n"), "all errors together: %s", got.stderr)
	kept, err := os.ReadFile("taken.hcl")
	require.NoError(t, err)
	assert.Equal(t, "mine", string(kept))
	assert.NoFileExists(t, "x.hcl")
	assert.NoFileExists(t, "scenarios/x.hcl")
}

// On a terminal the command asks questions. Enter keeps the default, and an invalid answer repeats
// the question.
func TestInitAsks(t *testing.T) {
	var out strings.Builder
	a := defaultAnswers()
	a.name = "x"
	require.NoError(t, ask(t.Context(), strings.NewReader("\nlarge\n4KiB\n 50ms \nnone\n\n"), &out, &a))
	assert.Equal(t, answers{name: "x", rate: "closed", payload: "4KiB", latencyMax: "50ms", durability: "none", topology: "single"}, a)
	assert.Contains(t, out.String(), `"large" is not a size: write a size such as 64 or 4KiB`)
	assert.Equal(t, 2, strings.Count(out.String(), "payload bytes of a task\n"))
	assert.Contains(t, out.String(), "  [64-256] ")

	out.Reset()
	a = defaultAnswers()
	require.ErrorContains(t, ask(t.Context(), strings.NewReader("\n"), &out, &a), "no answer for --payload, so nothing is written")
	require.ErrorContains(t, ask(t.Context(), strings.NewReader(strings.Repeat("no\n", 100)), &out, &a), `--rate: "no" is not a rate`, "the number of tries is bounded")
}

// Ctrl-C ends the questions without an answer.
func TestInitIsInterrupted(t *testing.T) {
	in, answers := io.Pipe()
	defer func() { require.NoError(t, answers.Close()) }()
	a := defaultAnswers()
	require.ErrorIs(t, ask(cancelled(t), in, io.Discard, &a), context.Canceled)
}

// The written scenario runs and measures.
func TestInitRuns(t *testing.T) {
	longtest.Only(t)
	inFolder(t)
	for _, topology := range []string{"single", "sharded", "raft", "embedded"} {
		require.Equal(t, 0, prony(t, "init", topology+"-one", "--topology", topology, "--durability", "none").code)
		file := topology + "-one.hcl"
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		// The test must not depend on the fitness of its host.
		write(t, file, replaceOnce(t, string(text), "  rounds = 6\n", "  rounds = 6\n  validity { on_breach = \"warn\" }\n"))
		got := prony(t, "run", "--json", "--rounds", "1", file)
		assert.Equal(t, 0, got.code, got.stderr)
		assert.Positive(t, got.document(t).Scenarios[0].Metrics["cycles_per_s"].Median)
	}
}
