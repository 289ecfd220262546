package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// The tests of this file run scenarios on faulty servers.

func (e *execution) reasons() string { return strings.Join(e.result.Reasons, "\n") }

func TestFakeServerWithoutAFaultPasses(t *testing.T) {
	t.Parallel()
	e := execute(t, small(), acting(t, faultNone))
	assert.Equal(t, result.Pass, e.result.Verdict, e.reasons())
	assert.Equal(t, map[string]float64{"broken_up": 1}, e.result.Rounds[0].Server)
}

// A server may refuse tasks: the run has a warning and no fault.
func TestServerRefusesTasks(t *testing.T) {
	t.Parallel()
	e := execute(t, small(), acting(t, faultFull))
	assert.Equal(t, result.Pass, e.result.Verdict, e.reasons())
	require.Len(t, e.result.Warnings, 1)
	assert.Regexp(t, `^round 1: the server refused [1-9]\d* enqueues: the queue is full$`, e.result.Warnings[0])
	assert.Contains(t, e.shown.String(), "small: warning: "+e.result.Warnings[0])
}

// executeUntilDrained executes a scenario on a server that withholds tasks, so that the drain
// reaches its deadline. On a busy machine workers may still complete tasks at the deadline, so no
// task counts as lost; it then repeats the run with a longer drain.
func executeUntilDrained(t *testing.T, s *scenario.Scenario, on server) *execution {
	t.Helper()
	s.Phases.Drain = 500 * time.Millisecond
	e := execute(t, s, on)
	for s.Phases.Drain < patience && strings.Contains(e.reasons(), "workers were still completing them") {
		s.Phases.Drain *= 4
		e = execute(t, s, on)
	}
	return e
}

// Each breach of the contract is detected, and the reason identifies it.
func TestServerBreaksItsContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   string
		verdict result.Verdict
		says    []string
		not     []string
		check   func(*testing.T, result.Ledger)
	}{
		{
			fault: faultKeeps, verdict: result.Incorrect,
			says: []string{"not conserved: the server acknowledged the completion of ", " tasks, but counts ", "expected 0 remaining tasks, but the server holds ", " leased"},
			not:  []string{"does not balance", "not all tasks were completed"},
			check: func(t *testing.T, l result.Ledger) {
				assert.Equal(t, l.Enqueued, l.Completed, "every completion was acknowledged")
				assert.Zero(t, l.Lost)
			},
		},
		{
			fault: faultSilent, verdict: result.Incorrect,
			says: []string{"the ledger does not balance: ", " lost, 0 duplicated, 0 corrupted", "the first: lost: ", "not all tasks were completed"},
			check: func(t *testing.T, l result.Ledger) {
				assert.Positive(t, l.Lost)
				assert.NotEmpty(t, l.Samples)
			},
		},
		{
			fault: faultStale, verdict: result.Incorrect,
			says: []string{
				"the server refused ", " completions of tasks that it had leased: the lease is over: the token is stale", "does not balance",
				"not all tasks were completed", "not exclusive: 0 tasks were claimed while another lease of the task was valid, and ",
				" completions were refused although their lease was valid; the first: revoked: ",
			},
			check: func(t *testing.T, l result.Ledger) {
				assert.Equal(t, l.Enqueued-l.Completed, l.Lost)
				assert.Positive(t, l.Revoked)
			},
		},
		{
			fault: faultTwice, verdict: result.Incorrect,
			says: []string{"the ledger does not balance: 0 lost, ", " duplicated, 0 corrupted", "the first: duplicated: "},
			check: func(t *testing.T, l result.Ledger) {
				assert.Positive(t, l.Duplicated)
			},
		},
		{
			fault: faultSwaps, verdict: result.Incorrect,
			says: []string{"not ordered: ", " tasks were claimed after a later one of the same producer and queue; the first: reordered: "},
			not:  []string{"does not balance", "not isolated"},
			check: func(t *testing.T, l result.Ledger) {
				assert.Positive(t, l.Reordered)
			},
		},
		{
			fault: faultStrays, verdict: result.Incorrect,
			says: []string{"not isolated: ", " tasks were claimed by the wrong tenant or from the wrong queue; the first: misrouted: "},
			not:  []string{"does not balance", "not ordered"},
			check: func(t *testing.T, l result.Ledger) {
				assert.Positive(t, l.Misrouted)
			},
		},
		{
			fault: faultHangsUp, verdict: result.Invalid,
			says: []string{"the load failed: ", "lost the thread"},
			not:  []string{"does not balance", "the server ended"},
			check: func(t *testing.T, l result.Ledger) {
				assert.Zero(t, l.Lost, "tasks in flight are not lost")
				assert.Empty(t, l.Samples)
			},
		},
		{
			fault: faultNoAudit, verdict: result.Invalid,
			says: []string{"the server could not be audited: ", "cannot count"},
		},
		{
			fault: faultBadEnd, verdict: result.Incorrect,
			says: []string{"the server did not end in order", "exit status 4", "close the store: input/output error"},
		},
		{
			fault: faultDies, verdict: result.Incorrect,
			says: []string{"scrape metrics", "stop topology: the server ", "exit status 3", "panic: out of metrics"},
		},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			s := small()
			switch c.fault {
			case faultSilent, faultStale:
				forTime(s, window) // a silent server completes only some of the tasks
				s.Invariants = append(s.Invariants, scenario.Invariant{Kind: scenario.Exclusive})
			case faultSwaps, faultStrays:
				s.Workloads[0].Workers = 1
				s.Invariants = []scenario.Invariant{{Kind: scenario.Isolated}, {Kind: scenario.Ordered, On: "main"}}
			case faultKeeps, faultHangsUp, faultBadEnd, faultDies:
				s.Rounds = 2
			}
			var e *execution
			switch c.fault {
			case faultSilent, faultStale:
				e = executeUntilDrained(t, s, acting(t, c.fault))
			default:
				e = execute(t, s, acting(t, c.fault))
			}
			assert.Equal(t, c.verdict, e.result.Verdict, e.reasons())
			for _, part := range c.says {
				assert.Contains(t, e.reasons(), part)
			}
			for _, part := range c.not {
				assert.NotContains(t, e.reasons(), part)
			}
			if c.check != nil {
				c.check(t, e.result.Rounds[0].Ledger)
			}
			switch c.fault {
			case faultHangsUp, faultBadEnd, faultDies:
				assert.Len(t, e.result.Rounds, 1, "a failed server is not restarted")
			case faultKeeps:
				assert.Len(t, e.result.Rounds, 2, "a fault in the account does not end the run")
			}
			if c.verdict == result.Incorrect {
				assert.NotContains(t, result.NewOutcome(e.result, e.folder).Metrics, result.CyclesPerS, "figures are not published")
			}
		})
	}
}

// Only the invariant detects a server that acknowledges a completion but keeps the task. A scenario
// without it passes.
func TestConservedIsAskedForByTheScenario(t *testing.T) {
	t.Parallel()
	s := small()
	s.Invariants = nil
	assert.Equal(t, result.Pass, execute(t, s, acting(t, faultKeeps)).result.Verdict)
}

func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 3
	e := execute(t, s, script(t, "echo reading the configuration >&2", "echo 'listen tcp 127.0.0.1:7700: bind: address already in use' >&2", "exit 1"))
	assert.Equal(t, result.Misconfigured, e.result.Verdict)
	require.Len(t, e.result.Rounds, 1)
	for _, part := range []string{
		"round 1: ", "the server ended before it was ready", "status: exit status 1",
		"reading the configuration", "bind: address already in use", "logs/server-01.log",
	} {
		assert.Contains(t, e.reasons(), part)
	}
	assert.Contains(t, e.shown.String(), "small: misconfigured\n")
	assert.FileExists(t, filepath.Join(e.folder, logsDir, "server-01.log"))
}

// If the server of a later round does not start, the run fails but keeps the earlier rounds.
func TestServerDoesNotStartAgain(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 3
	e := execute(t, s, script(t, `[ "$(wc -l <"$(dirname "$0")/pids")" -lt 2 ] || { echo 'no ports left' >&2; exit 1; }`,
		fmt.Sprintf(`exec '%s' "$@"`, queued)))
	assert.Equal(t, result.Misconfigured, e.result.Verdict)
	require.Len(t, e.result.Rounds, 2)
	assert.Equal(t, result.Pass, e.result.Rounds[0].Verdict)
	assert.Positive(t, e.result.Rounds[0].Metrics[result.CyclesPerS])
	assert.Contains(t, e.reasons(), "round 2: ")
	assert.Contains(t, e.reasons(), "no ports left")
}

func TestServerIsNoProgram(t *testing.T) {
	t.Parallel()
	s := script(t, "exit 0")
	require.NoError(t, os.WriteFile(s.pids, nil, 0o600))
	s.path = filepath.Join(t.TempDir(), "none")
	e := execute(t, small(), s)
	assert.Equal(t, result.Misconfigured, e.result.Verdict)
	assert.Contains(t, e.reasons(), "no such file")
}

// A server that is killed under load has broken its contract. Its end explains the broken
// connection.
func TestServerIsKilledInMidRound(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 3
	forTime(s, 2*patience)
	e := begin(t, s, real(t))
	e.awaitWindow(t)
	pids := e.server.started(t)
	require.Len(t, pids, 1)
	require.NoError(t, syscall.Kill(pids[0], syscall.SIGKILL))
	e.end(t)
	require.NoError(t, e.err)
	assert.Equal(t, result.Incorrect, e.result.Verdict)
	require.Len(t, e.result.Rounds, 1)
	for _, part := range []string{"round 1: the server ended by itself", "status: signal: killed", "msg=serving", "server-01.log"} {
		assert.Contains(t, e.reasons(), part)
	}
	assert.Len(t, e.result.Reasons, 1, "it is reported once")
	assert.Zero(t, e.result.Rounds[0].Ledger.Lost, "tasks in flight are not lost")
	stored, _, err := result.Read(e.folder)
	require.NoError(t, err)
	assert.Equal(t, e.result.Reasons, stored.Reasons)
}

// A limit on the size of files simulates a full disk: the server's write-ahead log reaches it.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Payload = scenario.Payload{Kind: "fixed", Min: 64 << 10, Max: 64 << 10}
	s.Workloads[0].Batch = 8
	forTime(s, 2*patience)
	for _, durability := range []string{"none", "sync"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			s := *s
			s.Topology.Durability = durability
			e := execute(t, &s, script(t, "ulimit -f 4096", fmt.Sprintf(`exec '%s' "$@"`, queued)))
			assert.Equal(t, result.Incorrect, e.result.Verdict)
			text, err := os.ReadFile(filepath.Join(e.folder, logsDir, "server-01.log"))
			require.NoError(t, err)
			assert.Contains(t, string(text), "file too large")
			lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
			for _, part := range []string{"the server ended by itself", "status: exit status ", lines[len(lines)-1]} {
				assert.Contains(t, e.reasons(), part)
			}
		})
	}
}

// Ctrl-C during a round ends the run immediately and leaves no process and no socket folder behind.
func TestInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s := small()
	s.Rounds, s.Topology.Listen = 3, "unix"
	forTime(s, 2*patience)
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	for _, profiled := range []bool{false, true} {
		t.Run(fmt.Sprintf("profiled %v", profiled), func(t *testing.T) {
			s := *s
			if profiled {
				s.Rounds = 0 // the first round is the profiled one
			}
			e := begin(t, &s, real(t))
			e.awaitWindow(t)
			sockets, err := filepath.Glob(filepath.Join(tmp, "prony-*"))
			require.NoError(t, err)
			require.Len(t, sockets, 1, "the socket is in the expected folder")
			e.cancel()
			e.end(t)
			require.ErrorIs(t, e.err, context.Canceled)
			assert.Contains(t, e.err.Error(), "interrupted in round 1 of ")
			assert.NotContains(t, e.err.Error(), "topology", "the server stopped cleanly")
			assert.NoDirExists(t, sockets[0])
			assert.NoFileExists(t, filepath.Join(e.folder, result.ResultFile), "no result is stored")
			assert.NoFileExists(t, filepath.Join(e.out, result.LatestLink))
			assert.FileExists(t, filepath.Join(e.folder, result.ManifestFile), "the manifest is stored")
			assert.FileExists(t, filepath.Join(e.folder, logsDir, "server-01.log"))
			assert.True(t, strings.HasSuffix(e.shown.String(), "\r\x1b[K"), "the live line is erased: %q", e.shown)
		})
	}
}

// The error of a server that does not stop cleanly is reported together with the interruption.
func TestInterruptedAndBadlyStopped(t *testing.T) {
	t.Parallel()
	s := small()
	forTime(s, 2*patience)
	e := begin(t, s, acting(t, faultBadEnd))
	e.awaitWindow(t)
	e.cancel()
	e.end(t)
	require.ErrorIs(t, e.err, context.Canceled)
	assert.Contains(t, e.err.Error(), "the server did not end in order")
	assert.Contains(t, e.err.Error(), "exit status 4")
}

func TestInterruptedBeforeTheServerIsReady(t *testing.T) {
	t.Parallel()
	e := begin(t, small(), script(t, "exec sleep 600"))
	require.Eventually(t, func() bool {
		_, err := os.Stat(e.server.pids)
		return err == nil
	}, patience, 5*time.Millisecond)
	e.cancel()
	e.end(t)
	require.ErrorIs(t, e.err, context.Canceled)
}

// Interrupting a round ends its profiles.
func TestInterruptedProfiles(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 0 // the first round is the profiled one
	forTime(s, 2*patience)
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 7}}
	e := begin(t, s, acting(t, faultNone))
	log := func() string {
		files, err := filepath.Glob(filepath.Join(e.out, "*", logsDir, "server-01.log"))
		if err != nil || len(files) != 1 {
			return ""
		}
		text, err := os.ReadFile(files[0])
		assert.NoError(t, err)
		return string(text)
	}
	require.Eventually(t, func() bool { return strings.Contains(log(), "served /debug/pprof/mutex") }, patience, 5*time.Millisecond)
	assert.NotContains(t, log(), "rates mutex=0")
	e.awaitWindow(t)
	e.cancel()
	e.end(t)
	assert.Contains(t, log(), "rates mutex=0")
}

// breakOff records the cause, keeps proven faults, and does not wait for a server once ctx is done.
func TestBreakOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "log"), Topology: small().Topology,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(context.Background())) }()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	account := ledger.New(1, 1, nil)
	account.Enqueued(0, account.Sent(0, 9), 9)
	for sequence := range uint64(6) {
		account.Completed(ledger.Identity{Round: 1, Sequence: sequence})
	}
	account.Completed(ledger.Identity{Round: 1, Sequence: 2})
	require.EqualValues(t, 3, account.Balance().Lost)
	m := &measured{round: result.Round{Verdict: result.Pass}}
	started := time.Now()
	l := &loads{cluster: cluster, accounts: []*ledger.Ledger{account}}
	l.generator = inProcess{l}
	m.breakOff(done, errors.New("a hook failed"), l)
	assert.Less(t, time.Since(started), exitWait)
	assert.True(t, m.broken)
	assert.False(t, m.serverEnd)
	assert.Equal(t, result.Incorrect, m.round.Verdict)
	assert.Equal(t, []string{
		"the ledger does not balance: 0 lost, 1 duplicated, 0 corrupted of 9 tasks enqueued; the first: " +
			"duplicated: producer 0 task 2: a completion was acknowledged again",
		"the load failed: a hook failed",
	}, m.round.Reasons)
}
