package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/reference/bare"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// actEnv makes the test binary act as a server with the fault that it names.
const actEnv = "PRONY_RUN_TEST_ACT"

// queued is the real server, built once for all tests.
var queued string

func TestMain(m *testing.M) {
	if fault := os.Getenv(actEnv); fault != "" {
		actServer(fault)
		return
	}
	if folder := os.Getenv(deployEnv); folder != "" {
		actHarness(folder)
		return
	}
	if os.Getenv(programEnv) != "" {
		actProgram()
		return
	}
	if bare.IsChild(os.Args) {
		os.Exit(bare.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	if attack.IsChild(os.Args) {
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer cancel()
		os.Exit(attack.Main(ctx, os.Stdout, os.Stderr))
	}
	if does := os.Getenv(standInEnv); does != "" {
		actK6(does)
		return
	}
	dir, err := prepareServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	startTimeout = 2 * patience
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// prepareServer builds the real server and sets queued, which is in the returned folder. A server
// refuses tasks while its file system has little free space. The tests must not depend on the space
// of their host, so queued starts the server without this limit.
func prepareServer() (dir string, err error) {
	program, err := buildtest.Program("queued", "engine/cmd/queued")
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "prony-run-test-"); err != nil {
		return "", err
	}
	queued = filepath.Join(dir, "queued")
	return dir, buildtest.WriteScript(queued, fmt.Sprintf("#!/bin/sh\nQUEUED_DISK_LOW=0B exec '%s' \"$@\"\n", program))
}

// patience bounds waits for events that must happen, without a statement about speed.
const patience = 30 * time.Second

// windowTasks is enough for a fault of each hundredth task to show.
const windowTasks = 300

// window is the length of windows that end by time.
const window = 500 * time.Millisecond

// small is a scenario of one short round. Its window ends after a number of tasks: a slow host
// takes longer for the same cycles.
func small() *scenario.Scenario {
	return &scenario.Scenario{
		Name: "small", Title: "A short round",
		Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"},
		Workloads: []scenario.Workload{{
			Name: "main", Driver: "stream", Connections: 1, Tenants: 1, Queues: 1, Producers: 2, Workers: 4, Batch: 64,
			Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: "closed"},
			Lease: time.Minute, InFlight: 256,
		}},
		Phases:     scenario.Phases{Warmup: 20 * time.Millisecond, Window: patience, Tasks: windowTasks, Drain: patience},
		Rounds:     1,
		Invariants: []scenario.Invariant{{Kind: "conserved"}},
	}
}

// forTime makes the window of a scenario end by time.
func forTime(s *scenario.Scenario, window time.Duration) {
	s.Phases.Window, s.Phases.Tasks = window, 0
}

// server is a command that runs as the server under test. It records the process id of each start,
// except starts that only write certificates.
type server struct {
	path string
	pids string
}

// script creates a server from shell lines. The last line must exec or exit.
func script(t *testing.T, lines ...string) server {
	t.Helper()
	dir := t.TempDir()
	s := server{path: filepath.Join(dir, "queued"), pids: filepath.Join(dir, "pids")}
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = cluster ] || echo $$ >>'%s'\n%s\n", s.pids, strings.Join(lines, "\n"))
	require.NoError(t, buildtest.WriteScript(s.path, text))
	return s
}

func real(t *testing.T) server {
	t.Helper()
	return script(t, fmt.Sprintf(`exec '%s' "$@"`, queued))
}

// acting is this test binary as a server with a fault; see actServer.
func acting(t *testing.T, fault string) server {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	return script(t, fmt.Sprintf(`exec env '%s=%s' '%s' "$@"`, actEnv, fault, executable))
}

func (s server) started(t *testing.T) []int {
	t.Helper()
	text, err := os.ReadFile(s.pids)
	require.NoError(t, err)
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// execution is a scenario that is running or has ended.
type execution struct {
	server server
	k6     string // the path of the k6 binary, for scenarios with a script
	out    string
	cancel context.CancelFunc
	shown  *screen
	done   chan struct{}

	result *result.Result
	folder string
	err    error
}

// begin runs a scenario in the background.
func begin(t *testing.T, s *scenario.Scenario, on server) *execution {
	t.Helper()
	return beginAs(t, s, on, Options{})
}

func beginAs(t *testing.T, s *scenario.Scenario, on server, o Options) *execution {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	e := &execution{server: on, out: t.TempDir(), cancel: cancel, shown: &screen{}, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		o.Out, o.Server, o.Command, o.Progress, o.Terminal = e.out, on.path, []string{"prony", "run", "small.hcl"}, e.shown, true
		e.result, e.folder, e.err = Execute(ctx, s, o)
	}()
	t.Cleanup(func() {
		cancel()
		<-e.done
	})
	return e
}

// await waits for the end of a run. It fails if the run shows no progress for a long time.
func (e *execution) await(t *testing.T) {
	t.Helper()
	shown, since := "", time.Now()
	for {
		select {
		case <-e.done:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if now := e.shown.String(); now != shown {
			shown, since = now, time.Now()
		}
		require.Less(t, time.Since(since), 3*patience, "the run makes no progress: %s", shown)
	}
}

// end waits for the run and checks that its servers left only their logs.
func (e *execution) end(t *testing.T) {
	t.Helper()
	e.await(t)
	for _, pid := range e.server.started(t) {
		assert.NoDirExists(t, "/proc/"+strconv.Itoa(pid), "process %d is left", pid)
	}
	assert.NoDirExists(t, filepath.Join(e.folder, result.DataDir))
}

func execute(t *testing.T, s *scenario.Scenario, on server) *execution {
	t.Helper()
	return executeAs(t, s, on, Options{})
}

func executeAs(t *testing.T, s *scenario.Scenario, on server, o Options) *execution {
	t.Helper()
	e := beginAs(t, s, on, o)
	e.end(t)
	require.NoError(t, e.err)
	stored, _, err := result.Read(e.folder)
	require.NoError(t, err)
	assert.Equal(t, e.result.Verdict, stored.Verdict)
	assert.Equal(t, e.result.Reasons, stored.Reasons)
	return e
}

// screen records progress output and may be read concurrently.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// awaitWindow waits until the progress output shows the window.
func (e *execution) awaitWindow(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		select {
		case <-e.done:
			return true
		default:
			return strings.Contains(e.shown.String(), ", window ")
		}
	}, patience, 10*time.Millisecond)
	select {
	case <-e.done:
		require.Fail(t, "the run ended before its window began", "%v\n%s", e.err, e.shown)
	default:
	}
}
