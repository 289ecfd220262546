package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// faults are those of the engine's package internal/planted, with the kind of cause that each is.
var faults = []struct{ name, kind, does string }{
	{"lock", "lock", "a lock is held for 20 µs after each commit"},
	{"channel", "channel", "each command passes a channel of capacity one between two stages, 64 times"},
	{"cpu", "cpu", "5 µs of computing for each task"},
	{"alloc", "allocation", "64 KiB allocated for each task, in pieces of 512 bytes"},
	{"fsync", "fsync", "an fsync for each task"},
	{"timer", "timer", "a wait of 2 ms before each commit"},
	{"rpc", "rpc", "a sleep of 1 ms for each frame and call that arrives"},
	{"scan", "scan", "each claim scans its queue from 2,000 deleted tasks before"},
}

// tableFile is what was said of each fault when it was last published.
const tableFile = "testdata/planted.md"

// foundMin is how many of the faults must be named first.
const foundMin = 7

// Each fault is measured beside the release build, in turn, and what is said of it first must be what it is. The release
// build beside itself is accused of nothing. PRONY_PLANTED_OUT keeps what it measured, and PRONY_PLANTED_TABLE=write publishes what was said.
func TestPlantedFaultsAreFound(t *testing.T) {
	longtest.Only(t)
	release, err := buildtest.Program("queued", "engine/cmd/queued")
	require.NoError(t, err)
	faulty, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	scenarios, err := scenario.Load(filepath.Join("..", "..", "scenarios", "fault-injection.hcl"))
	require.NoError(t, err)
	s := scenarios[0]
	s.Rounds, s.ProfiledRounds = 1, 2
	out := os.Getenv("PRONY_PLANTED_OUT")
	if out == "" {
		out = t.TempDir()
	}

	arms := []run.Arm{{Name: "clean", Server: release}}
	for _, f := range faults {
		arms = append(arms, run.Arm{Name: f.name, Server: faulty, Env: []string{"PRONY_PLANTED=" + f.name}})
	}
	arms = append(arms, run.Arm{Name: "control", Server: release})
	measured, err := run.Interleave(context.Background(), s, arms, run.ArmsOptions{Options: run.Options{Out: out}})
	require.NoError(t, err)
	require.Len(t, measured.Arms, len(arms))

	clean, control := measured.Arms[0].Result, measured.Arms[len(arms)-1].Result
	assert.Empty(t, gate.Causes(clean, control), "the clean build is accused")
	assert.Empty(t, gate.Causes(control, clean), "the clean build is accused")
	var found int
	var said, table strings.Builder
	table.WriteString("| fault | cycles/s, of the clean build's | said first |\n| --- | --- | --- |\n")
	for i, f := range faults {
		causes := gate.Causes(clean, measured.Arms[1+i].Result)
		if len(causes) > 0 && causes[0].Kind == f.kind {
			found++
		}
		first := "nothing"
		if len(causes) > 0 {
			first = "**" + causes[0].Kind + "**: " + causes[0].Sentence
		}
		fmt.Fprintf(&table, "| `%s`: %s | %.0f %% | %s |\n", f.name, f.does, 100*rate(measured.Arms[1+i].Result)/rate(clean), first)
		fmt.Fprintf(&said, "%s (%.0f cycles/s, clean %.0f):\n%s", f.name, rate(measured.Arms[1+i].Result), rate(clean), lines(causes))
	}
	t.Logf("%s", &said)
	if os.Getenv("PRONY_PLANTED_TABLE") == "write" {
		require.NoError(t, os.WriteFile(tableFile, []byte(table.String()), 0o644))
	}
	assert.GreaterOrEqual(t, found, foundMin, "of %d faults are named first:\n%s", len(faults), &said)
}

// The published table has each fault, and what was said first of at least as many as must be found is what they are.
func TestTableOfPlantedFaultsIsWhole(t *testing.T) {
	text, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	var found int
	for _, f := range faults {
		row := "| `" + f.name + "`: " + f.does + " | "
		at := strings.Index(string(text), row)
		require.GreaterOrEqual(t, at, 0, "%s", row)
		row, _, _ = strings.Cut(string(text[at:]), "\n")
		if strings.Contains(row, "| **"+f.kind+"**: ") {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, foundMin)
}

func lines(causes []result.Cause) string {
	if len(causes) == 0 {
		return "  nothing\n"
	}
	var b strings.Builder
	for _, c := range causes {
		fmt.Fprintf(&b, "  %s, %.3g us a cycle: %s\n", c.Kind, c.Score, c.Sentence)
	}
	return b.String()
}

func rate(r *result.Result) float64 {
	sum, n := 0.0, 0
	for i := range r.Rounds {
		if r.Rounds[i].Timed() {
			sum, n = sum+r.Rounds[i].Metrics[result.CyclesPerS], n+1
		}
	}
	return sum / float64(n)
}
