package topology

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	wait = 30 * time.Second
	tick = 5 * time.Millisecond
	// long is a timeout that must not end a wait; soon is one that must.
	long = 5 * time.Minute
	soon = 300 * time.Millisecond
)

// site contains the files and processes of a test's server. It must be empty at the end of the
// test.
type site struct {
	config Config
	pid    string // file with the server's process id
	temp   string // for sockets
}

func newSite(t *testing.T, mode string) *site {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	// t.TempDir reads TMPDIR once, so it is called before TMPDIR changes.
	s := &site{pid: filepath.Join(t.TempDir(), "pid")}
	// t.TempDir contains the test's name, which may leave too few bytes for a socket's path.
	temp, err := os.MkdirTemp("", "pt")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(temp)) })
	t.Setenv("TMPDIR", temp)
	s.temp = temp
	s.config = Config{
		Binary:       executable,
		Dir:          t.TempDir(),
		LogPath:      filepath.Join(t.TempDir(), "server.log"),
		Topology:     scenario.Topology{Kind: "single", Shards: 1, Durability: "interval", SyncInterval: 20 * time.Millisecond, Listen: "tcp", BusyPoll: true},
		Env:          []string{helperMode + "=" + mode, helperPID + "=" + s.pid},
		StartTimeout: long,
		StopTimeout:  long,
	}
	return s
}

func (s *site) start(t *testing.T) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), s.config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	return c
}

// only returns the server of a topology with one server.
func only(t *testing.T, c *Cluster) *Server {
	t.Helper()
	require.Len(t, c.Servers(), 1)
	return c.Servers()[0]
}

// assertEmpty checks that no process and no folder remains, and that the log does.
func (s *site) assertEmpty(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(s.pid)
	require.NoError(t, err, "the server never ran")
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d is left", pid)
	s.assertNoFolders(t)
	require.FileExists(t, s.config.LogPath)
}

func (s *site) assertNoFolders(t *testing.T) {
	t.Helper()
	for _, dir := range []string{s.config.Dir, s.temp} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "left in %s", dir)
	}
}

func serverError(t *testing.T, err error) *ServerError {
	t.Helper()
	var e *ServerError
	require.ErrorAs(t, err, &e)
	assert.Contains(t, strings.Join(e.Command, " "), " serve --data ")
	return e
}

func TestStartAndStop(t *testing.T) {
	s := newSite(t, "good")
	c := s.start(t)
	node := only(t, c).Node()
	connection, err := net.Dial("tcp", node.Address)
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	response, err := http.Get("http://" + node.Admin + "/readyz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode, "Start returns when the server is ready")
	http.DefaultClient.CloseIdleConnections()

	text, err := os.ReadFile(s.pid)
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(node.PID), string(text))
	group, err := syscall.Getpgid(node.PID)
	require.NoError(t, err)
	assert.Equal(t, node.PID, group, "Ctrl-C in the harness's terminal must not reach the server")
	select {
	case <-node.Exited():
		t.Fatal("the server is running")
	default:
	}
	require.NoError(t, node.ExitError())
	assert.Equal(t, []result.ServerSetting{{Name: "busy_poll", Value: "true", Origin: "flag"}}, node.Settings(), "without the data folder")
	lines, err := node.LastLines(5)
	require.NoError(t, err)
	assert.Equal(t, []string{"durability=interval interval=20ms shards=0 busy-poll=true"}, lines)

	require.NoError(t, c.Stop(t.Context()))
	<-node.Exited()
	require.NoError(t, node.ExitError())
	require.NoError(t, c.Failure())
	require.NoError(t, c.Stop(t.Context()), "a second Stop does nothing")
	s.assertEmpty(t)
	lines, err = node.LastLines(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"closed"}, lines, "the server ended in order")
}

// A log may be emptied while the server runs. The server then continues at the log's beginning.
func TestLogThatIsEmptied(t *testing.T) {
	s := newSite(t, "good")
	c := s.start(t)
	require.NoError(t, os.Truncate(s.config.LogPath, 0))
	require.NoError(t, c.Stop(t.Context()))
	log, err := os.ReadFile(s.config.LogPath)
	require.NoError(t, err)
	assert.Equal(t, "closed\n", string(log))
}

func TestServersOnSomeCPUs(t *testing.T) {
	s := newSite(t, "good")
	cpus, err := observe.CPUs()
	require.NoError(t, err)
	last := cpus[len(cpus)-1].ID
	s.config.CPUs = []int{last}
	var may unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(only(t, s.start(t)).Node().PID, &may))
	assert.Equal(t, 1, may.Count())
	assert.True(t, may.IsSet(last))
}

// A topology with hosts needs a network, and no other topology may have one.
func TestHostsNeedANetwork(t *testing.T) {
	cluster := scenario.Topology{Kind: scenario.Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp", Hosts: &scenario.Hosts{}}
	_, err := Start(t.Context(), Config{Dir: t.TempDir(), Topology: cluster})
	require.ErrorContains(t, err, "Topology.Hosts and Network must be set together")
	first := err.Error()
	cluster.Hosts = nil
	_, err = Start(t.Context(), Config{Dir: t.TempDir(), Topology: cluster, Network: &hosts.Network{}})
	require.EqualError(t, err, first)
}

// A topology without a TCP listener cannot have TLS.
func TestTLSNeedsTCP(t *testing.T) {
	s := golden.Cases(t, "testdata/tls.golden")
	for kind, listen := range map[string]string{"single": "unix", scenario.Embedded: "", scenario.NoTopology: ""} {
		_, err := Start(t.Context(), Config{Dir: t.TempDir(), Topology: scenario.Topology{Kind: kind, Shards: 1, Durability: "none", Listen: listen, TLS: true}})
		s.Error(t, kind, err)
	}
}

func TestUnixSocketHasAPathThatCanBeBound(t *testing.T) {
	s := newSite(t, "good")
	s.config.Topology.Listen = "unix"
	s.config.Dir = filepath.Join(s.config.Dir, strings.Repeat("long/", 30))
	require.NoError(t, os.MkdirAll(s.config.Dir, 0o755))
	c := s.start(t)
	path, isUnix := strings.CutPrefix(only(t, c).Node().Address, "unix:")
	require.True(t, isUnix, path)
	connection, err := net.Dial("unix", path)
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	require.NoError(t, c.Stop(t.Context()))
	s.assertEmpty(t)
}

func TestUnixSocketInATemporaryFolderThatIsTooLong(t *testing.T) {
	s := newSite(t, "good")
	s.config.Topology.Listen = "unix"
	s.temp = filepath.Join(t.TempDir(), strings.Repeat("x", socketPathBytesMax))
	require.NoError(t, os.Mkdir(s.temp, 0o755))
	t.Setenv("TMPDIR", s.temp)
	_, err := Start(t.Context(), s.config)
	require.ErrorContains(t, err, "set TMPDIR")
	s.assertNoFolders(t)
}

func TestServerThatEndsAtOnce(t *testing.T) {
	s := newSite(t, "port taken")
	_, err := Start(t.Context(), s.config)
	e := serverError(t, err)
	assert.Equal(t, "exit status 1", e.Status)
	assert.Len(t, e.Lines, 20)
	for _, want := range []string{"ended before it was ready", "address already in use", "exit status 1", "--durability interval", s.config.LogPath} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "line 10\n", "only the last lines")
	s.assertEmpty(t)
}

func TestServerThatNeverBecomesReady(t *testing.T) {
	for mode, want := range map[string]string{"mute": "the address file is missing", "never ready": "recovering"} {
		t.Run(mode, func(t *testing.T) {
			s := newSite(t, mode)
			// The helper writes its process id first, so the timeout does not race against its
			// start.
			s.config.StartTimeout = soon
			_, err := startWhenItRan(t, s)
			e := serverError(t, err)
			assert.Equal(t, "running", e.Status)
			require.ErrorContains(t, err, "was not ready within")
			require.ErrorContains(t, e.Err, want)
			s.assertEmpty(t)
		})
	}
}

// startWhenItRan repeats a start that is expected to time out, with a longer timeout each time,
// until the helper got far enough on a slow machine.
func startWhenItRan(t *testing.T, s *site) (*Cluster, error) {
	t.Helper()
	for {
		c, err := Start(t.Context(), s.config)
		_, missing := os.Stat(s.pid)
		early := errors.Is(missing, os.ErrNotExist) ||
			(s.mode() == "never ready" && err != nil && !strings.Contains(err.Error(), "recovering"))
		if !early || s.config.StartTimeout > wait {
			return c, err
		}
		s.config.StartTimeout *= 2
	}
}

func (s *site) mode() string {
	return strings.TrimPrefix(s.config.Env[0], helperMode+"=")
}

func TestStartIsGivenUpWithItsContext(t *testing.T) {
	s := newSite(t, "mute")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := Start(ctx, s.config)
		result <- err
	}()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(s.pid)
		return err == nil && len(text) > 0
	}, wait, tick)
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	s.assertEmpty(t)
}

func TestAddressFileThatIsWrong(t *testing.T) {
	for mode, want := range map[string]string{
		"other process": "names process",
		"no address":    "an address is missing",
	} {
		t.Run(mode, func(t *testing.T) {
			s := newSite(t, mode)
			_, err := Start(t.Context(), s.config)
			assert.Equal(t, "running", serverError(t, err).Status)
			require.ErrorContains(t, err, want)
			s.assertEmpty(t)
		})
	}
}

func TestServerThatIgnoresSIGTERMIsKilled(t *testing.T) {
	s := newSite(t, "stubborn")
	s.config.StopTimeout = soon
	c := s.start(t)
	err := c.Stop(t.Context())
	assert.Equal(t, "signal: killed", serverError(t, err).Status)
	require.ErrorContains(t, err, "did not end within 300ms of SIGTERM")
	assert.Equal(t, err, c.Stop(t.Context()), "a second Stop returns the first error")
	s.assertEmpty(t)
}

func TestStopWithCancelledContextKills(t *testing.T) {
	s := newSite(t, "stubborn")
	c := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.Stop(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "signal: killed", serverError(t, err).Status)
	s.assertEmpty(t)
}

func TestServerThatFailsToCloseIsAnError(t *testing.T) {
	s := newSite(t, "fails to close")
	c := s.start(t)
	err := c.Stop(t.Context())
	assert.Equal(t, "exit status 4", serverError(t, err).Status)
	require.ErrorContains(t, err, "did not end in order")
	require.ErrorContains(t, err, "input/output error")
	s.assertEmpty(t)
}

func TestServerThatEndsByItself(t *testing.T) {
	for status, want := range map[int]string{3: "exit status 3", 0: "exit status 0"} {
		t.Run(want, func(t *testing.T) {
			s := newSite(t, "good")
			c := s.start(t)
			node := only(t, c).Node()
			require.NoError(t, c.Failure())
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			response, err := client.Get("http://" + node.Admin + "/end?status=" + strconv.Itoa(status))
			if err == nil { // the server may end before it answers
				require.NoError(t, response.Body.Close())
			}
			<-c.Failed()
			err = c.Failure()
			e := serverError(t, err)
			assert.Equal(t, want, e.Status)
			require.ErrorContains(t, err, "ended by itself")
			require.ErrorContains(t, err, "panic: out of order")
			err = c.Stop(t.Context())
			require.ErrorContains(t, err, "ended by itself")
			s.assertEmpty(t)
		})
	}
}

func TestKillLeavesTheDataUntilStop(t *testing.T) {
	s := newSite(t, "stubborn")
	c := s.start(t)
	server := only(t, c)
	assert.Zero(t, server.CPUOfEnded())
	require.NoError(t, server.Kill())
	<-server.Node().Exited()
	assert.False(t, server.Running())
	assert.Positive(t, server.CPUOfEnded(), "the CPU time is known after the end")
	require.NoError(t, server.Node().ExitError(), "a kill is not a failure")
	left, err := filepath.Glob(filepath.Join(s.config.Dir, "*", "*", "data", "store"))
	require.NoError(t, err)
	assert.Len(t, left, 1)
	require.NoError(t, server.Kill())
	require.NoError(t, c.Stop(t.Context()))
	require.NoError(t, c.Failure())
	s.assertEmpty(t)
}

func TestStartRefusals(t *testing.T) {
	texts := golden.Cases(t, "testdata/refusals.golden")
	for name, c := range map[string]struct {
		change func(*Config)
	}{
		"kind":    {func(c *Config) { c.Topology.Kind = "ring" }},
		"shards":  {func(c *Config) { c.Topology.Shards = 2 }},
		"none":    {func(c *Config) { c.Topology.Kind, c.Topology.Shards = "sharded", 0 }},
		"binary":  {func(c *Config) { c.Binary = filepath.Join(c.Dir, "missing") }},
		"nodes":   {func(c *Config) { c.Topology.Kind = "raft" }},
		"many":    {func(c *Config) { c.Topology.Kind, c.Topology.Nodes = "raft", 8 }},
		"socket":  {func(c *Config) { c.Topology = scenario.Topology{Kind: "raft", Nodes: 3, Shards: 1, Listen: "unix"} }},
		"dir":     {func(c *Config) { c.Dir = filepath.Join(c.Dir, "missing") }},
		"logPath": {func(c *Config) { c.LogPath = filepath.Join(c.Dir, "missing", "log") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "good")
			dir := s.config.Dir
			c.change(&s.config)
			_, err := Start(t.Context(), s.config)
			texts.Replace(s.config.LogPath, "LOG")
			texts.Replace(dir, "DIR")
			texts.Replace(s.config.Binary, "BINARY")
			texts.Error(t, name, err)
			s.config.Dir = dir
			s.assertNoFolders(t)
		})
	}
}
