package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
	golden.Text(t, "testdata/init.golden", text.String())

	got := prony(t, "init", "fourth", "--json", "--latency-max", "1s")
	require.Equal(t, 0, got.code, got.stderr)
	var b begun
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &b))
	assert.Equal(t, "scenarios/fourth.hcl", b.File)
	require.Len(t, b.Next, 4)
	assert.Equal(t, "prony check", b.Next[3].Command)
}

// On a terminal the command asks questions. Enter keeps the default, and an invalid answer repeats
// the question.
func TestInitAsks(t *testing.T) {
	s := sheet(t)
	var out strings.Builder
	a := defaultAnswers()
	a.name = "x"
	require.NoError(t, ask(t.Context(), strings.NewReader("\nlarge\n4KiB\n 50ms \nnone\n\n"), &out, &a))
	assert.Equal(t, answers{name: "x", rate: "closed", payload: "4KiB", latencyMax: "50ms", durability: "none", topology: "single"}, a)
	s.Equal(t, "questions", out.String())

	out.Reset()
	a = defaultAnswers()
	s.Error(t, "no answer", ask(t.Context(), strings.NewReader("\n"), &out, &a))
	s.Error(t, "the number of tries is bounded", ask(t.Context(), strings.NewReader(strings.Repeat("no\n", 100)), &out, &a))
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
