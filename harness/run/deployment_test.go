package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// deployEnv makes the test binary a harness that measures a single long window on servers in the
// folder that it names. deployServerEnv names the server binary, and deployNodesEnv the number of
// nodes.
const (
	deployEnv       = "PRONY_RUN_TEST_DEPLOY"
	deployServerEnv = "PRONY_RUN_TEST_SERVER"
	deployNodesEnv  = "PRONY_RUN_TEST_NODES"
)

// lasting is a scenario for a deployment of the given number of nodes.
func lasting(nodes int) *scenario.Scenario {
	s := small()
	s.Workloads[0].Lease = 3 * time.Second // tasks of a dead worker stay leased for this long
	if nodes > 1 {
		s.Topology = scenario.Topology{Kind: scenario.Raft, Nodes: nodes, Shards: 1, Durability: "none", Listen: "tcp", TLS: true, Settings: calm}
	}
	return s
}

// long makes the windows of a scenario last until an event ends them.
func long(s *scenario.Scenario) *scenario.Scenario {
	forTime(s, 4*patience)
	return s
}

func actHarness(folder string) {
	nodes, err := strconv.Atoi(os.Getenv(deployNodesEnv))
	if err != nil {
		die(1, "%v", err)
	}
	ctx := context.Background()
	d, err := Deploy(ctx, long(lasting(nodes)), DeploymentOptions{Folder: folder, Server: os.Getenv(deployServerEnv)})
	if err != nil {
		die(1, "%v", err)
	}
	_, err = d.Measure(ctx, 7, false)
	die(1, "the window ended: %v", err)
}

func deployed(t *testing.T, s *scenario.Scenario, on server, folder string) *Deployment {
	t.Helper()
	d, err := Deploy(t.Context(), s, DeploymentOptions{Folder: folder, Server: on.path})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.cluster.Stop(context.Background()) })
	return d
}

// awaitJournals waits until a window has written a number of checkpoints.
func awaitJournals(t *testing.T, folder string, checkpoints int) {
	t.Helper()
	require.Eventually(t, func() bool {
		journals, _ := journalsOf(filepath.Join(folder, windowDir), 0)
		return slices.ContainsFunc(journals, func(path string) bool { return journalNumber(path) >= checkpoints })
	}, patience, 10*time.Millisecond)
}

func gone(t *testing.T, on server) {
	t.Helper()
	for _, pid := range on.started(t) {
		require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, patience, 10*time.Millisecond, "process %d", pid)
	}
}

// passes measures a window whose account closes.
func passes(t *testing.T, d *Deployment, number int, faults bool) DeploymentWindow {
	t.Helper()
	w, err := d.Measure(t.Context(), number, faults)
	require.NoError(t, err)
	require.Equal(t, result.Pass, w.Round.Verdict, "%v", w.Round.Reasons)
	assert.Equal(t, number, w.Round.Number)
	assert.False(t, w.Interrupted)
	assert.Positive(t, w.Round.Cycles)
	assert.Positive(t, w.Round.Metrics[result.CyclesPerS])
	assert.Equal(t, w.Round.Cycles, uint64(w.Histograms.Cycle.TotalCount()))
	assert.Zero(t, w.Round.Ledger.Lost+w.Round.Ledger.Duplicated+w.Round.Ledger.Corrupted)
	require.NoDirExists(t, d.windowPath())
	return w
}

// balances checks the account of a window without figures.
func balances(t *testing.T, w DeploymentWindow) {
	t.Helper()
	assert.True(t, w.Interrupted)
	l := w.Round.Ledger
	assert.Positive(t, l.Completed)
	assert.Zero(t, l.Lost+l.Duplicated+l.Corrupted+l.Misrouted, "%v", l.Samples)
	assert.Equal(t, result.Invalid, w.Round.Verdict, "%v", w.Round.Reasons)
	assert.Empty(t, w.Round.Metrics)
	assert.Nil(t, w.Histograms.Cycle)
	assert.NotEmpty(t, w.Processes)
}

func TestWindowsOnTheSameServers(t *testing.T) {
	t.Parallel()
	on, folder := real(t), t.TempDir()
	d := deployed(t, lasting(1), on, folder)
	assert.NotEmpty(t, d.Manifest().Servers)
	assert.Equal(t, "small", d.Manifest().Scenario.Name)
	_, found, err := d.Recover(t.Context())
	require.NoError(t, err)
	assert.False(t, found)
	for number := 1; number <= 3; number++ {
		assert.Equal(t, number == 1, d.windowRunner(true).scenario.Phases.Warmup > 0, "the servers are warm after the first window")
		w := passes(t, d, number, true)
		assert.Equal(t, w.Round.Ledger.Enqueued, w.Round.Ledger.Completed)
		assert.Empty(t, w.Ends)
		require.Len(t, w.Processes, 2)
		for i, name := range []string{"harness", "server"} {
			p := w.Processes[i]
			assert.Equal(t, name, p.Node)
			assert.Positive(t, p.RSSBytes)
			assert.Positive(t, p.FDs)
			assert.Positive(t, p.Goroutines)
			assert.Equal(t, i == 1, p.DataBytes > 0)
		}
		assert.Equal(t, on.started(t)[0], w.Processes[1].PID)
	}
	assert.Len(t, on.started(t), 1)
	require.NoError(t, d.Close(t.Context()))
	gone(t, on)
	assert.NoDirExists(t, filepath.Join(folder, topology.KeptDir))
	assert.FileExists(t, filepath.Join(folder, logsDir, "server.log"))
}

// A server that is killed from outside ends its window but not the deployment. Another process of
// the server closes the account.
func TestAServerThatIsKilledInAWindow(t *testing.T) {
	t.Parallel()
	on, folder := real(t), t.TempDir()
	s := lasting(1)
	d := deployed(t, s, on, folder)
	passes(t, d, 1, false)
	kill := func() {
		pids := on.started(t)
		assert.NoError(t, syscall.Kill(pids[len(pids)-1], syscall.SIGKILL))
	}
	brief := s.Phases
	long(s)
	go func() {
		awaitJournals(t, folder, 3)
		kill()
	}()
	w, err := d.Measure(t.Context(), 2, false)
	require.NoError(t, err)
	balances(t, w)
	require.Len(t, w.Ends, 1)
	assert.True(t, w.Ends[0].Killed)
	assert.Equal(t, "signal: killed", w.Ends[0].Status)
	assert.NotEmpty(t, w.Ends[0].Lines)
	assert.Positive(t, w.Ends[0].Down)
	assert.Regexp(t, `^server "" ended unplanned and was ready again after .*: signal: killed$`, strings.Join(w.Round.Reasons, "\n"))
	s.Phases = brief
	assert.False(t, d.warm)
	passes(t, d, 3, false)

	kill() // between two windows
	select {
	case <-d.cluster.Failed():
	case <-time.After(patience):
		require.Fail(t, "the end of the server is not recorded")
	}
	w = passes(t, d, 4, false)
	assert.Len(t, w.Ends, 1)
	require.NoError(t, d.Close(t.Context()))
	gone(t, on)
}

// killedHarness measures in another process and kills it in a window, alone or together with its
// servers.
func killedHarness(t *testing.T, on server, folder string, nodes int, servers bool) {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), deployEnv+"="+folder, deployServerEnv+"="+on.path, fmt.Sprintf("%s=%d", deployNodesEnv, nodes))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	child, err := proc.Start(cmd)
	require.NoError(t, errors.Join(err, log.Close()))
	t.Cleanup(func() { _ = child.Kill() })
	require.Eventually(t, func() bool {
		if child.Ended() {
			text, _ := os.ReadFile(log.Name())
			t.Errorf("the harness ended: %s", text)
			return true
		}
		journals, _ := journalsOf(filepath.Join(folder, windowDir), 0)
		return slices.ContainsFunc(journals, func(path string) bool { return journalNumber(path) >= 3 })
	}, 2*patience, 10*time.Millisecond)
	if servers {
		for _, pid := range on.started(t) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	require.NoError(t, child.Kill())
}

func TestAHarnessThatIsKilledInAWindow(t *testing.T) {
	t.Parallel()
	for name, both := range map[string]bool{"alone": false, "with its server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, folder := real(t), t.TempDir()
			killedHarness(t, on, folder, 1, both)
			d := deployed(t, lasting(1), on, folder)
			_, err := d.Measure(t.Context(), 8, false)
			require.ErrorContains(t, err, "window 8: ")
			require.ErrorContains(t, err, "recover it first")

			given, cancel := context.WithCancel(t.Context())
			cancel() // an interrupted Recover can be repeated
			_, found, err := d.Recover(given)
			assert.True(t, found)
			require.ErrorIs(t, err, context.Canceled)

			w, found, err := d.Recover(t.Context())
			require.NoError(t, err)
			require.True(t, found)
			balances(t, w)
			assert.Equal(t, 7, w.Round.Number)
			assert.Equal(t, []string{"the harness ended in the window: the window has an account but no figures"}, w.Round.Reasons)
			passes(t, d, 8, false)
			_, found, err = d.Recover(t.Context())
			require.NoError(t, err)
			assert.False(t, found)
			require.NoError(t, d.Close(t.Context()))
			gone(t, on)
		})
	}
}

// Recover detects tasks that the servers lost while no harness watched. After a reboot without
// durability the loss is tolerated.
func TestTasksThatAreGoneAfterAKill(t *testing.T) {
	t.Parallel()
	for name, rebooted := range map[string]bool{"the same boot": false, "another boot": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, folder := real(t), t.TempDir()
			killedHarness(t, on, folder, 1, true)
			gone(t, on)
			kept := filepath.Join(folder, topology.KeptDir)
			require.NoError(t, os.RemoveAll(filepath.Join(kept, "server-alone", "data")))
			state, err := os.ReadFile(filepath.Join(kept, "state.json"))
			require.NoError(t, err)
			// Without a token the server does not recognise its data and creates a new store.
			state = regexp.MustCompile(`"token": ".*"`).ReplaceAll(state, []byte(`"token": ""`))
			require.NoError(t, os.WriteFile(filepath.Join(kept, "state.json"), state, 0o600))
			o := DeploymentOptions{Folder: folder, Server: on.path}
			if rebooted {
				o.bootID = func() (string, error) { return "another", nil }
			}
			d, err := Deploy(t.Context(), lasting(1), o)
			require.NoError(t, err)
			w, found, err := d.Recover(t.Context())
			require.NoError(t, err)
			require.True(t, found)
			if rebooted {
				balances(t, w)
			} else {
				assert.Equal(t, result.Incorrect, w.Round.Verdict)
				assert.Contains(t, strings.Join(w.Round.Reasons, "\n"), "not conserved: the server acknowledged ")
			}
			require.NoError(t, d.Close(t.Context()))
			gone(t, on)
		})
	}
}

// A cluster continues after its harness was killed, with faults in some windows, and after an
// abandoned window.
func TestACluster(t *testing.T) {
	t.Parallel()
	on, folder := real(t), t.TempDir()
	killedHarness(t, on, folder, 3, false)
	s := lasting(3)
	forTime(s, 2*time.Second)
	s.Faults = []scenario.Fault{
		{Kind: scenario.FaultKill, Target: scenario.Target{Kind: scenario.TargetLeader}, At: s.Phases.Window / 8, Times: 1, For: 200 * time.Millisecond},
		{ // the nodes now reach each other through links that can fail
			Kind: scenario.FaultPartition, Target: scenario.Target{Kind: scenario.TargetFollower}, At: s.Phases.Window / 2, Times: 1,
			For: 200 * time.Millisecond, Mode: scenario.Drop,
		},
	}
	d := deployed(t, s, on, folder)
	w, found, err := d.Recover(t.Context())
	require.NoError(t, err)
	require.True(t, found)
	balances(t, w)
	assert.Len(t, w.Processes, 4)

	// On a busy machine the nodes recover late, and a longer window is measured.
	for number := 8; number == 8 || d.injection.window < patience && cutShort(w.Round); number++ {
		w, err = d.Measure(t.Context(), number, true)
		require.NoError(t, err)
		d.injection.window *= 2
		s.Phases.Window = d.injection.window
	}
	require.NotNil(t, w.Round.Faults, "%v", w.Round.Reasons)
	require.Len(t, w.Round.Faults.Events, 2)
	assert.NotEqual(t, result.Incorrect, w.Round.Verdict, "%v", w.Round.Reasons)
	assert.Zero(t, w.Round.Ledger.Lost+w.Round.Ledger.Duplicated+w.Round.Ledger.Corrupted)
	assert.Empty(t, w.Ends, "a fault is not an unplanned end")

	given, cancel := context.WithCancel(t.Context())
	go func() {
		awaitJournals(t, folder, 2)
		cancel()
	}()
	long(s)
	_, err = d.Measure(given, 90, true)
	require.ErrorIs(t, err, context.Canceled)
	d.Keep()
	require.NoError(t, d.Close(t.Context()))
	gone(t, on)
	d = deployed(t, s, on, folder)
	w, found, err = d.Recover(t.Context())
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, 90, w.Round.Number)
	balances(t, w)
	s.Phases = lasting(3).Phases
	assert.Nil(t, passes(t, d, 91, false).Round.Faults)
	require.NoError(t, d.Close(t.Context()))
	gone(t, on)
}

// Two servers never write to the same data.
func TestAServerThatWasLeft(t *testing.T) {
	t.Parallel()
	on, folder := real(t), t.TempDir()
	d := deployed(t, lasting(1), on, folder)
	d.Keep()
	data := d.cluster.Servers()[0].DataDir()
	require.NoError(t, d.Close(t.Context()))
	addresses := filepath.Join(t.TempDir(), "address.json")
	left, err := proc.Start(exec.Command(queued, "serve", "--data", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--address-file", addresses))
	require.NoError(t, err)
	defer func() { require.NoError(t, left.Kill()) }()
	require.Eventually(t, func() bool { _, err := os.Stat(addresses); return err == nil }, patience, 10*time.Millisecond)
	_, err = Deploy(t.Context(), lasting(1), DeploymentOptions{Folder: folder, Server: on.path})
	require.ErrorContains(t, err, "deploy servers in "+folder+": resume topology: the server ended before it was ready")
	require.ErrorContains(t, err, data)
	gone(t, on)
}

func TestWhatCantBeDeployed(t *testing.T) {
	t.Parallel()
	texts := golden.Cases(t, "testdata/deployments.golden")
	for name, spoil := range map[string]func(*scenario.Scenario){
		"no process":             func(s *scenario.Scenario) { s.Topology.Kind = scenario.Embedded },
		"a sweep":                func(s *scenario.Scenario) { s.Points = []scenario.Point{{}} },
		"a backlog":              func(s *scenario.Scenario) { s.Backlog = &scenario.Backlog{} },
		"an observe block":       func(s *scenario.Scenario) { s.Observe = &scenario.Observe{} },
		"an attack":              func(s *scenario.Scenario) { s.Attack = &scenario.Attack{} },
		"a script":               func(s *scenario.Scenario) { s.Workloads[0].Driver = scenario.DriverK6 },
		"a workload with fail":   func(s *scenario.Scenario) { s.Workloads[0].Fail = 0.1 },
		"a workload with delay":  func(s *scenario.Scenario) { s.Workloads[0].Delay = scenario.Delay{Time: time.Second, Part: 1} },
		"a workload with result": func(s *scenario.Scenario) { s.Workloads[0].Result = scenario.Results{Size: 64, Part: 1} },
		"a workload with extend": func(s *scenario.Scenario) { s.Workloads[0].Extend = 0.1 },
		"a workload with key":    func(s *scenario.Scenario) { s.Workloads[0].Key = 0.1 },
		"a rate that is a part of the peak": func(s *scenario.Scenario) {
			s.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.5}}
		},
	} {
		s := lasting(1)
		spoil(s)
		folder := filepath.Join(t.TempDir(), "none")
		_, err := Deploy(t.Context(), s, DeploymentOptions{Folder: folder})
		texts.Replace(folder, "FOLDER")
		texts.Error(t, name, err)
		require.NoDirExists(t, folder)
	}
}

// The account of a window is restored from disk with its journals. After a reboot only the synced
// part is used.
func TestTheAccountOfAWindow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), windowDir)
	now := func() (string, error) { return "now", nil }
	account := ledger.New(1, 1, nil)
	account.Enqueued(0, account.Sent(0, 3), 3)
	a, err := openWindow(dir, openAccount{Number: 4}, now, []*ledger.Ledger{account})
	require.NoError(t, err)
	account.Completing(ledger.Identity{Round: 1, Sequence: 1})
	w, found, err := readWindow(dir)
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, 4, w.Number)
	lost := func(boot string) uint64 {
		restored, err := restoreAccounts(dir, w, boot)
		require.NoError(t, err)
		return restored[0].Balance().Lost
	}
	assert.EqualValues(t, 2, lost("now"), "except the one whose completion was requested")
	assert.Zero(t, lost("later"))
	require.NoError(t, a.close())
	assert.EqualValues(t, 2, lost("now"), "the last checkpoint includes it")

	path := checkpointPath(dir, 0)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("cut"), 0o600))
	_, err = restoreAccounts(dir, w, "now")
	require.ErrorIs(t, err, ledger.ErrCheckpoint)
	require.ErrorContains(t, err, path)
	assert.Zero(t, lost("later"), "the synced checkpoint is used")

	require.NoError(t, os.WriteFile(filepath.Join(dir, windowFile), []byte(`{"version":9}`), 0o600))
	_, _, err = readWindow(dir)
	s := golden.Cases(t, "testdata/windowversion.golden")
	s.Replace(dir, "WINDOW")
	s.Error(t, "another version", err)
}

func TestAnAccountThatCantBeStoredIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), windowDir)
	a, err := openWindow(dir, openAccount{}, bootID, []*ledger.Ledger{ledger.New(1, 1, nil)})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorContains(t, a.close(), "store the account of the window: ")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = openWindow(dir, openAccount{}, bootID, []*ledger.Ledger{ledger.New(1, 1, nil)})
	require.ErrorContains(t, err, "store the account of the window: ")
}
