package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	never = "never"   // no command line of this test has this exit code
	alone = "(alone)" // the command line is the command's name
)

// outcomes are command lines of a command, without its name, by their exit code.
type outcomes struct {
	// exit code 0; never if that depends on the host, or needs the setup of the command's own test
	done    string
	misused string // exit code 2
	waits   string // exit code 130; never for a command that is too fast to be interrupted
}

// exits are all commands of the program, by path. A new command must be added here.
var exits = map[string]outcomes{
	"prony":                  {alone, "--nonsense", never},
	"prony run":              {never, alone, "tiny.hcl"},
	"prony guard":            {never, alone, "tiny.hcl"},
	"prony soak":             {never, alone, "soaked.hcl"},
	"prony compare":          {"runs/slow runs/base", alone, "--base HEAD"},
	"prony ratchet":          {never, alone, "--base HEAD --hypothesis less --cost none"},
	"prony ratchet page":     {alone, "none.hcl", never},
	"prony gate":             {alone, "nonsense", never},
	"prony gate selftest":    {never, "--for -1s", "--for 1m --bank bank"},
	"prony gate resample":    {never, "nowhere", never},
	"prony doctor":           {never, "here", alone},
	"prony check":            {"runs/one", "none", never},
	"prony publish":          {never, "nowhere", "fit.hcl"},
	"prony report":           {"runs/one", "none", never},
	"prony report lint":      {"fine.md", "nowhere", never},
	"prony history":          {alone, "--history nowhere", never},
	"prony history page":     {"--out pages", "--history nowhere", never},
	"prony report set":       {"--reports pages", "--reports nowhere", never},
	"prony view":             {never, "none", never},
	"prony convert":          {"figures.txt --to csv", alone, never},
	"prony baseline":         {alone, "nonsense", never},
	"prony baseline explain": {"--scenarios more tiny", "--baselines nowhere", never},
	"prony baseline propose": {"runs/one", "none", never},
	"prony baseline move":    {never, alone, never},
	"prony validate":         {"tiny.hcl", alone, never},
	"prony explain":          {"tiny.hcl", alone, never},
	"prony list":             {"more", "nowhere", never},
	"prony k6":               {alone, "nonsense", never},
	"prony k6 fold":          {"k6.json", alone, never},
	"prony serial":           {never, "--connections 0", alone},
	"prony profile":          {alone, "nonsense", never},
	"prony profile locks":    {"runs/a", "none", never},
	"prony profile stalls":   {never, "none", never},
	"prony profile top":      {"runs/a", "none", never},
	"prony profile diff":     {"runs/a runs/b", alone, never},
	"prony profile open":     {never, "none", never},
	"prony init":             {"new", alone, never},
	"prony completion":       {"bash", alone, never},
	"prony version":          {alone, "extra", never},
}

// exitBench makes the folder for the command lines of exits.
func exitBench(t *testing.T) {
	t.Helper()
	ratchetRepository(t)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	write(t, "fit.hcl", unlimited(""))
	write(t, "fine.md", "A queue of tasks.\n")
	write(t, "pages/pages/pages.hcl", "")
	write(t, "pages/data/none", "")
	write(t, "more/tiny.hcl", tiny("tiny", "100ms", ""))
	write(t, "soaked.hcl", soaked)
	write(t, "baselines/tiny.hcl", baseline)
	write(t, "figures.txt", "BenchmarkOne 1 1.5 ns/op\n")
	write(t, "reports/history/tiny.jsonl", `{"version":1,"scenario":"tiny","run":"r","measured":"2026-11-21T17:15:00Z","commit":"0123456","durability":"none",`+
		`"settings":"0123456789ab","rounds":2,"verdict":"pass","metrics":{"cycles_per_s":[1000,900,1100]}}`+"\n")
	stored(t, "runs", "one", nil)
	measuredRun(t, "runs", "base", 100_000)
	measuredRun(t, "runs", "slow", 80_000)
	profiledRun(t, "a", 2, 100)
	profiledRun(t, "b", 2, 400)
	h := result.NewHistograms()
	for _, kind := range h.Kinds() {
		require.NoError(t, kind.Histogram.RecordValue(int64(time.Millisecond)))
	}
	histograms, err := h.Encode()
	require.NoError(t, err)
	instance, err := json.Marshal(k6run.Instance{
		Version: k6run.Version, Name: "i0", Share: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		Phases: scenario.Phases{Warmup: time.Second, Window: time.Second, Drain: time.Second},
		Outcome: k6run.Outcome{
			Cycles: 1, Enqueued: 1, Histograms: histograms, Drained: true, Ledger: result.Ledger{Enqueued: 1, Completed: 1},
		},
	})
	require.NoError(t, err)
	write(t, "k6.json", string(instance))
}

// Every command ends with the documented exit codes, and prints one word if it was interrupted.
func TestEveryCommandEndsWithTheDocumentedCodes(t *testing.T) {
	exitBench(t)
	seen := map[string]bool{}
	for _, c := range everyCommand(newRoot([]string{"prony"})) {
		path := c.CommandPath()
		if c.Name() == "help" {
			continue
		}
		seen[path] = true
		o, known := exits[path]
		if !assert.True(t, known, "%s is new: add it to exits, with a command line for each code", path) {
			continue
		}
		try := func(ctx context.Context, want int, line string) (stderr string) {
			if line == never {
				return ""
			}
			args := append(strings.Fields(path), strings.Fields(strings.ReplaceAll(line, alone, ""))...)
			var stdout, log bytes.Buffer
			code := execute(ctx, args, &stdout, &log)
			assert.Equal(t, want, code, "%v: %s%s", args, &stdout, &log)
			return log.String()
		}
		try(t.Context(), 2, o.misused)
		try(t.Context(), 0, o.done)
		if said := try(cancelled(t), exitInterrupted, o.waits); o.waits != never {
			assert.True(t, strings.HasSuffix("\n"+said, "\ninterrupted\n"), "%s: %s", path, said)
			assert.NotContains(t, said, "context canceled", path)
		}
	}
	for path := range exits {
		assert.True(t, seen[path], "%s is no longer a command", path)
	}
}

// Errors besides the interruption are reported.
func TestAnInterruptionHidesNoOtherError(t *testing.T) {
	full := errors.New("the disk is full")
	ended := fmt.Errorf("interrupted in round 1 of 2: %w", context.Canceled)
	assert.True(t, onlyCancelled(ended))
	assert.True(t, onlyCancelled(errors.Join(ended, context.Canceled)))
	assert.False(t, onlyCancelled(errors.Join(ended, full)))
	assert.False(t, onlyCancelled(fmt.Errorf("tiny: %w", errors.Join(full, ended))))
	assert.False(t, onlyCancelled(full))
}

// The README documents the exit codes as the program does.
func TestExitCodesAreDocumented(t *testing.T) {
	path, begin, end := filepath.Join("..", "..", "README.md"), "<!-- exit codes: written by make golden -->\n\n", "\n<!-- end of exit codes -->"
	var table strings.Builder
	table.WriteString("| verdict | exit code | means |\n|---|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&table, "| `%s` | %d | %s |\n", e.name, e.code, e.meaning)
		if v := result.Verdict(e.name); v.Known() {
			assert.Equal(t, v.ExitCode(), e.code)
		}
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found)
	golden.Text(t, path, before+begin+table.String()+end+after)
}
