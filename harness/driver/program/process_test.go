package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

func TestALaunchFromBeginToEnd(t *testing.T) {
	texts := golden.Cases(t, "testdata/stopped.golden")
	p, l, s := launch(t, "")
	targets, err := p.Targets(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Description{memory{}.Describe(t.Context())}, targets)
	text, err := os.ReadFile(filepath.Join(s.Folder, "launched"))
	require.NoError(t, err)
	assert.Equal(t, "[{t0 q0}] 8 1m0s map[x:y]", string(text))

	assert.Equal(t, []int{100}, l.PIDs())
	require.NoError(t, l.Kill(t.Context()))
	assert.FileExists(t, filepath.Join(s.Folder, "killed"))
	require.NoError(t, l.Restart(t.Context()))
	assert.Equal(t, []int{101}, l.PIDs())

	other := spec(t)
	_, err = p.Launch(t.Context(), other) // not stopped before the end
	require.NoError(t, err)
	require.NoError(t, l.Stop(t.Context()))
	assert.FileExists(t, filepath.Join(s.Folder, "stopped"))
	texts.Error(t, "stop again", l.Stop(t.Context()))
	_, err = l.Dial(t.Context())
	texts.Error(t, "dial", err)
	require.NoError(t, p.Close(t.Context()))
	assert.FileExists(t, filepath.Join(other.Folder, "stopped"))
	assert.NoDirExists(t, p.sockets)
}

// A load on a target through a program has the same account as one on the target directly.
func TestALoadThroughAProgram(t *testing.T) {
	_, l, _ := launch(t, "")
	workload := scenario.Workload{
		Name: "main", Tenants: 2, Queues: 2, Producers: 6, Workers: 8, Batch: 8, InFlight: 512, Payload: scenario.Payload{Kind: "uniform", Min: 64, Max: 4096},
		Arrivals: scenario.Arrivals{Kind: scenario.Closed}, Connections: 2,
	}
	var conns []driver.Conn
	for range workload.Connections {
		conn, err := l.Dial(t.Context())
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	account := load.NewLedger(1, workload)
	outcome, err := load.Run(t.Context(), load.Config{
		Workload: workload, Conns: conns, Ledger: account,
		Phases: scenario.Phases{Warmup: 10 * time.Millisecond, Window: 100 * time.Millisecond, Drain: time.Minute},
	})
	require.NoError(t, err)
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	balance := account.Balance()
	assert.True(t, outcome.Drained)
	assert.NotZero(t, balance.Completed)
	assert.Equal(t, balance.Enqueued, balance.Completed)
	assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Misrouted+balance.Unknown)
}

func TestWhatCannotBeLaunched(t *testing.T) {
	p, err := program(t, "")
	require.NoError(t, err)
	texts := golden.Cases(t, "testdata/launches.golden")
	for name, change := range map[string]func(*LaunchSpec){
		"an unknown target":    func(s *LaunchSpec) { s.Target = "redis" },
		"an unknown guarantee": func(s *LaunchSpec) { s.Guarantee = Fsync },
		"many nodes":           func(s *LaunchSpec) { s.Nodes = 3 },
		"no folder":            func(s *LaunchSpec) { s.Folder = "nowhere" },
	} {
		s := spec(t)
		change(&s)
		_, err := p.Launch(t.Context(), s)
		texts.Error(t, name, err)
	}
	p, err = program(t, "missing")
	require.NoError(t, err)
	_, err = p.Launch(t.Context(), spec(t))
	texts.Error(t, "a missing server", err)
	attached := spec(t)
	attached.Addresses, attached.Nodes = []string{"10.0.0.1:7070"}, 0
	_, err = p.Launch(t.Context(), attached)
	require.NoError(t, err, "a server that runs elsewhere need not be installed here")

	_, l, _ := launch(t, "refuses")
	_, err = l.Dial(t.Context())
	texts.Error(t, "a refused connection", err)
}

func TestAProgramThatBreaksTheRules(t *testing.T) {
	_, err := program(t, "dies")
	require.ErrorContains(t, err, "hello: ")
	require.ErrorContains(t, err, "the process ended early: exit status 3")
	require.ErrorContains(t, err, "no such library")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	t.Setenv(actEnv, "hangs")
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = Start(ctx, filepath.Join(t.TempDir(), "log"), self)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	_, err = Start(t.Context(), filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	_, l, _ := launch(t, "dies in a call")
	conn, err := l.Dial(t.Context())
	require.NoError(t, err)
	p, err := conn.Producer(t.Context(), "t0")
	require.NoError(t, err)
	err = p.Enqueue(t.Context(), []driver.Task{{Tenant: "t0", Queue: "q0"}}, make([]error, 1))
	require.ErrorContains(t, err, "the program closed the connection without a reason; its process is ")
	require.ErrorContains(t, conn.Close(), "without a reason")
}

// A program stops its servers when the Prony process that started it has ended.
func TestServersEndWithTheInput(t *testing.T) {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), in, out, memory{}) }()
	s := spec(t)
	with, err := json.Marshal(s)
	require.NoError(t, err)
	go func() { _, _ = fmt.Fprintf(commands, `{"call":1,"do":"launch","with":%s}`+"\n", with) }()
	line, err := bufio.NewReader(answers).ReadString('\n')
	require.NoError(t, err)
	assert.JSONEq(t, `{"call":1,"done":{"server":1,"pids":[100]}}`, line)
	assert.NoFileExists(t, filepath.Join(s.Folder, "stopped"))
	require.NoError(t, commands.Close())
	require.NoError(t, <-served)
	assert.FileExists(t, filepath.Join(s.Folder, "stopped"))
}

// A program of another version answers with an error, and ends.
func TestTheVersionMustBeTheSame(t *testing.T) {
	for version, says := range map[int]string{
		Version:     `{"call":1,"done":{"version":1}}`,
		Version + 1: `{"call":1,"error":"hello: prony has version 2 of the protocol, this program has version 1: build both from the same commit"}`,
	} {
		var out strings.Builder
		err := Serve(t.Context(), strings.NewReader(fmt.Sprintf(`{"call":1,"do":"hello","with":{"version":%d}}`+"\n", version)), &out, memory{})
		assert.JSONEq(t, says, out.String())
		assert.Equal(t, version != Version, err != nil, "%v", err)
	}
}
