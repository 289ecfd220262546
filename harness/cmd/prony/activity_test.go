package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// progressOf returns the progress output of work. The clock is simulated, so the test does not
// wait.
func progressOf(t *testing.T, terminal bool, work func(a *activity) error) (text string, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		var out strings.Builder
		now := time.Now()
		a := &activity{
			what: "building", quiet: 2 * time.Second, terminal: terminal, columns: func() int { return 30 }, w: &out, began: now, from: now,
		}
		err = a.during(work)
		text = out.String()
	})
	return text, err
}

// builds returns work with one step for each of halves, which takes that number of half seconds.
func builds(halves ...int) func(a *activity) error {
	return func(a *activity) error {
		for i, n := range halves {
			a.step("part %d", i+1)
			time.Sleep(time.Duration(n)*500*time.Millisecond + time.Millisecond)
		}
		return nil
	}
}

func TestNothingIsToldOfShortWork(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		text, err := progressOf(t, terminal, builds(1, 1, 1))
		require.NoError(t, err)
		assert.Empty(t, text)
	}
}

// Without a terminal, each slow step has a line, and so has the whole work.
func TestLongWorkHasPlainLines(t *testing.T) {
	text, err := progressOf(t, false, builds(1, 6, 1, 20))
	require.NoError(t, err)
	s := sheet(t)
	s.Equal(t, "slow steps", text)
	text, err = progressOf(t, false, builds(3, 3))
	require.NoError(t, err)
	s.Equal(t, "no slow step", text)
}

// On a terminal, one line is redrawn. It is never wider than the terminal.
func TestLongWorkHasALineOfTheTerminal(t *testing.T) {
	text, err := progressOf(t, true, func(a *activity) error {
		a.step("a part with a name that is long")
		time.Sleep(2500 * time.Millisecond)
		_, err := fmt.Fprintln(a, "a line of the work")
		a.step("x")
		time.Sleep(time.Second)
		return err
	})
	require.NoError(t, err)
	sheet(t).Equal(t, "terminal", strings.ReplaceAll(text, "\r\x1b[K", "<erase the line>"))
}

// Failed work returns its error, and has no total time.
func TestFailedWork(t *testing.T) {
	failed := errors.New("it failed")
	for _, terminal := range []bool{false, true} {
		text, err := progressOf(t, terminal, func(*activity) error {
			time.Sleep(3500 * time.Millisecond)
			return failed
		})
		require.ErrorIs(t, err, failed)
		assert.NotContains(t, text, "building: 3s")
	}
}

// Each command that may be slow shows its progress. Here everything counts as slow.
func TestCommandsTellOfLongWork(t *testing.T) {
	before := quiet
	quiet = 0
	t.Cleanup(func() { quiet = before })
	inFolder(t)
	write(t, "baselines/tiny.hcl", baseline)
	profiledRun(t, "a", 2, 100)
	profiledRun(t, "b", 2, 400)
	run := stored(t, "runs", "one", nil)
	for line, says := range map[string]string{
		"report " + run:              "  writing the page of " + run + ": 0s\n",
		"baseline propose " + run:    "  reading: 0s\n",
		"doctor --window 1ms":        "  examining the host: ",
		"report --json " + run:       "  writing the page of " + run + ": 0s\n",
		"baseline propose --json ":   "  reading: 0s\n",
		"profile diff runs/a runs/b": "  comparing the profiles: ",
	} {
		assert.Contains(t, prony(t, strings.Fields(line)...).stderr, says, line)
	}

	var out strings.Builder
	_, _, err := measureDuet(&out, func(progress io.Writer) (*result.Duet, string, error) {
		say(progress, "  generation 1")
		return nil, "", nil
	})
	require.NoError(t, err)
	assert.Equal(t, "  generation 1\n  measuring: 0s\n", out.String())
}

// Builds and test suites before a measurement show their progress.
func TestBuildsAreTold(t *testing.T) {
	before := quiet
	quiet = 0
	t.Cleanup(func() { quiet = before })
	ratchetRepository(t)
	b, err := newBuilder(t.Context(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, b.close(t.Context())) }()
	side, err := b.here(t.Context(), "base")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, b.building(&out, func() error {
		_, err := b.server(t.Context(), side, 3)
		assert.Equal(t, "the server of base, layout 3", b.activity.doing)
		return err
	}))
	assert.Regexp(t, `(?m)^  building: \d+s\n$`, out.String())
	b.step("a build without an activity shows no progress")

	got := prony(t, ratchetArgs("--tests", "false")...)
	assert.Regexp(t, `(?m)^  testing: \d+s$`, got.stderr)
}
