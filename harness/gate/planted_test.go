package gate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// faults are the faults of the engine's package internal/planted, with the kind of the cause that
// reveals each and the suffix of its name. A lock with few waiters shows as CPU time of its holder,
// and so do allocations and scans.
var faults = []struct{ name, kind, cause, does string }{
	{"lock", "cpu", "/planted.burn", "a lock is held for 20 µs after each commit"},
	{"channel", "lock", "planted.passage.one", "each command passes a channel of capacity one between two stages, 64 times"},
	{"cpu", "cpu", "/planted.burn", "5 µs of computing for each task"},
	{"alloc", "cpu", "/planted.storm", "64 KiB allocated for each task, in pieces of 512 bytes"},
	{"fsync", "fsync", "prony_storage_fsyncs_total", "an fsync for each task"},
	{"timer", "stage", "apply", "a wait of 2 ms before each commit"},
	{"rpc", "stage", "receive", "a sleep of 1 ms for each frame and call that arrives"},
	{"scan", "cpu", "/storage.scanSteps", "each claim scans its queue from 2,000 deleted tasks before"},
}

// tableFile is the published table with the cause that named each fault, or else the first cause.
const tableFile = "testdata/planted.md"

// foundMin is the least number of faults that must be named.
const foundMin = 7

// Each fault is measured in alternation with the release build, and its causes must name it. A
// second run of the release build must have no cause. PRONY_PLANTED_OUT names a folder for the
// measurements, and PRONY_PLANTED_TABLE=write publishes the table.
func TestPlantedFaultsAreFound(t *testing.T) {
	longtest.Only(t)
	release, err := buildtest.Program("queued", "engine/cmd/queued")
	require.NoError(t, err)
	faulty, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	scenarios, err := scenario.Load(filepath.Join("..", "..", "scenarios", "fault-injection.hcl"))
	require.NoError(t, err)
	s := scenarios[0]
	s.Rounds, s.ProfiledRounds = 3, 5
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

	clean, control := measured.Arms[0], measured.Arms[len(arms)-1]
	explain := func(base, change result.Arm) []result.Cause {
		causes, _, err := gate.Explain([]result.Arm{base}, change)
		require.NoError(t, err)
		return causes
	}
	assert.Empty(t, explain(clean, control), "the clean build is accused")
	assert.Empty(t, explain(control, clean), "the clean build is accused")
	var found int
	var said, table strings.Builder
	table.WriteString("| fault | cycles/s, of the clean build's | said |\n| --- | --- | --- |\n")
	for i, f := range faults {
		causes := explain(clean, measured.Arms[1+i])
		named := slices.IndexFunc(causes, func(c result.Cause) bool { return c.Kind == f.kind && strings.HasSuffix(c.Name, f.cause) })
		if named >= 0 {
			found++
		}
		first := "nothing"
		if len(causes) > 0 {
			c := causes[max(0, named)]
			first = "**" + c.Kind + "**: " + c.Sentence
		}
		fmt.Fprintf(&table, "| `%s`: %s | %.0f %% | %s |\n", f.name, f.does, 100*rate(measured.Arms[1+i].Result)/rate(clean.Result), first)
		fmt.Fprintf(&said, "%s (%.0f cycles/s, clean %.0f):\n%s", f.name, rate(measured.Arms[1+i].Result), rate(clean.Result), lines(causes))
	}
	t.Logf("%s", &said)
	if os.Getenv("PRONY_PLANTED_TABLE") == "write" {
		require.NoError(t, os.WriteFile(tableFile, []byte(table.String()), 0o644))
	}
	assert.GreaterOrEqual(t, found, foundMin, "of %d faults are named:\n%s", len(faults), &said)
}

// The published table has each fault and names at least foundMin of them.
func TestTableOfPlantedFaultsIsWhole(t *testing.T) {
	text, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	var found int
	for _, f := range faults {
		row := "| `" + f.name + "`: " + f.does + " | "
		at := strings.Index(string(text), row)
		require.GreaterOrEqual(t, at, 0, "%s", row)
		row, _, _ = strings.Cut(string(text[at:]), "\n")
		if f.kind != "" && strings.Contains(row, "| **"+f.kind+"**: ") {
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
