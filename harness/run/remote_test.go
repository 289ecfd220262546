package run

import (
	"context"
	"fmt"
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

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/sshclient/sshtest"
	"github.com/pronybench/prony/harness/topology"
)

// running starts the real servers of a topology and returns them with a scenario that attaches to
// them.
func running(t *testing.T, of scenario.Topology) (*topology.Cluster, *scenario.Scenario) {
	t.Helper()
	c, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: t.TempDir(), LogPath: filepath.Join(t.TempDir(), "server.log"), Topology: of, StartTimeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background()), "the servers were still running") })
	dir := t.TempDir()
	where := &scenario.RemoteServers{TokenFile: filepath.Join(dir, "token")}
	require.NoError(t, os.WriteFile(where.TokenFile, []byte(c.Token+"\n"), 0o600))
	if !c.CA.IsZero() {
		where.CAFile, where.TLSName = filepath.Join(dir, "ca.crt"), clienttls.ServerName
		require.NoError(t, os.WriteFile(where.CAFile, []byte(c.CA.PEM), 0o600))
	}
	for _, s := range c.Servers() {
		n := s.Node()
		name := s.ID
		if name == "" {
			name = "only"
		}
		where.Nodes = append(where.Nodes, scenario.RemoteNode{Name: name, Address: n.Address, HTTP: n.HTTP, Admin: n.Admin})
	}
	s := small()
	s.Topology = scenario.Topology{
		Kind: scenario.Remote, Nodes: len(where.Nodes), Shards: of.Shards, Durability: of.Durability, Listen: "tcp", TLS: of.TLS, Remote: where,
	}
	return c, s
}

// attach runs a scenario on running servers. Its server binary does not exist.
func attach(t *testing.T, s *scenario.Scenario) (*result.Result, string) {
	t.Helper()
	r, folder, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: "", Command: []string{"prony"}, Progress: &screen{}})
	require.NoError(t, err)
	return r, folder
}

// Attached servers are measured twice. The results have only what these servers report themselves,
// and the servers keep running.
func TestAttach(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]scenario.Topology{
		"one over TLS": {Kind: "sharded", Shards: 2, Durability: "interval", SyncInterval: 20 * time.Millisecond, Listen: "tcp", TLS: true, Procs: 1},
		"a cluster":    {Kind: scenario.Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp", Settings: calm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s := running(t, of)
			s.Rounds, s.Workloads[0].Tenants = 2, 2
			// A server reports its CPU time in steps of 10 ms.
			s.Workloads[0].Batch, s.Phases.Tasks = 1, 2000
			s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
			cores := map[string]float64{} // the most of a process; a follower may pause for a whole window
			for range 2 {
				r, _ := attach(t, s)
				require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				require.Len(t, r.Rounds, 3)
				for _, metric := range []string{
					result.CyclesPerS, result.ServerCPUUsPerCycle, result.ServerCPUCores, result.ClientCPUUsPerCycle, result.ServerRSSMBMax,
					result.ServerGoroutinesMax, result.ServerAllocsPerCycle, result.StorageSetsPerCycle,
				} {
					assert.Positive(t, r.Metrics[metric].Median, metric)
				}
				assert.NotContains(t, r.Metrics, result.WrittenBytesPerCycle, "a server does not report it")
				for _, round := range r.Rounds {
					assert.Nil(t, round.Stalls, "times of other hosts' clocks")
					require.Len(t, round.Processes, 1+len(c.Servers()))
					for _, p := range round.Processes {
						assert.Empty(t, p.Unknown, p.Name)
						assert.Positive(t, p.FDsMax, p.Name)
						cores[p.Name] = max(cores[p.Name], p.CPUCores)
					}
					assert.Len(t, round.Nodes, len(of.NodeNames()))
				}
				require.NotEmpty(t, r.Manifest.Servers)
				require.Len(t, r.Manifest.Hosts, len(c.Servers()))
				h := r.Manifest.Hosts[0]
				assert.Equal(t, result.HostFromServer, h.From)
				assert.Positive(t, h.GOMAXPROCS)
				assert.NotEmpty(t, h.Version)
				assert.Contains(t, h.Unknown, "cpu_model", "unknown properties are listed")
				assert.Equal(t, "unknown", r.Manifest.Build.Server, "the measured binary is not on this host")
				assert.Equal(t, h.Commit == "" || h.Dirty, r.Manifest.Build.Dirty, "a result without a commit counts as dirty and cannot be published")
			}
			require.Len(t, cores, 1+len(c.Servers()))
			for name, most := range cores {
				assert.Positive(t, most, name)
			}
			for _, server := range c.Servers() {
				assert.True(t, server.Running(), "the server keeps running")
			}
		})
	}
}

// Servers that differ from the scenario are not measured.
func TestAttachedServersMustBeAsTheScenarioSays(t *testing.T) {
	t.Parallel()
	single, s := running(t, scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"})
	cluster, of := running(t, scenario.Topology{Kind: scenario.Raft, Nodes: 2, Shards: 1, Durability: "none", Listen: "tcp"})
	none := http.Server{Addr: "127.0.0.1:0", ReadHeaderTimeout: patience, Handler: http.NotFoundHandler()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = none.Serve(l)
	}()
	t.Cleanup(func() {
		require.NoError(t, none.Close())
		<-served
	})
	texts := golden.Cases(t, "testdata/attached.golden")
	texts.Replace(l.Addr().String(), "OTHER")
	texts.Replace(`, "`, `,"`)                  // protojson adds spaces or not, depending on the build
	for _, node := range []string{"n1", "n2"} { // either one may be checked first
		texts.Replace("server "+node+": ", "server NODE: ")
		texts.Replace(`is node "`+node, `is node "OTHER`)
	}
	for _, server := range append(single.Servers(), cluster.Servers()...) {
		texts.Replace(server.Node().Admin, "ADMIN")
		texts.Replace(server.Node().Address, "ADDRESS")
	}
	for _, c := range []struct {
		name   string
		of     *scenario.Scenario
		change func(*scenario.Topology)
	}{
		{"durability", s, func(t *scenario.Topology) { t.Durability = "sync" }},
		{"shards", s, func(t *scenario.Topology) { t.Shards = 3 }},
		{"no token", s, func(t *scenario.Topology) { t.Remote.TokenFile = "" }},
		{"no such token file", s, func(t *scenario.Topology) { t.Remote.TokenFile = "/missing" }},
		{"no such authority", s, func(t *scenario.Topology) { t.Remote.CAFile = "/missing" }},
		{"an old server", s, func(t *scenario.Topology) { t.Remote.Nodes[0].Admin = l.Addr().String() }},
		{"names", of, func(t *scenario.Topology) { t.Remote.Nodes[0].Name, t.Remote.Nodes[1].Name = "n2", "n1" }},
		{"too few nodes", of, func(t *scenario.Topology) { t.Remote.Nodes, t.Nodes = t.Remote.Nodes[:1], 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := *c.of
			where := *s.Topology.Remote
			where.Nodes = append([]scenario.RemoteNode(nil), where.Nodes...)
			s.Topology.Remote = &where
			c.change(&s.Topology)
			r, _ := attach(t, &s)
			assert.Equal(t, result.Misconfigured, r.Verdict)
			require.Len(t, r.Reasons, 1)
			texts.Equal(t, c.name, r.Reasons[0])
		})
	}
	assert.True(t, single.Servers()[0].Running() && cluster.Servers()[0].Running(), "the servers keep running")
}

// Workers would claim tasks of earlier clients.
func TestAttachWantsNoTasksOfItsTenants(t *testing.T) {
	t.Parallel()
	c, s := running(t, scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"})
	address, rest := c.Addresses()
	target := driver.Target{Address: address, HTTP: rest, Token: c.Token}
	require.NoError(t, enqueueOne(t, "unary", target, patience), "of a tenant that the scenario does not use")
	r, _ := attach(t, s)
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)

	conn, err := dial(t.Context(), c, nil, s.Workloads[0])
	require.NoError(t, err)
	p, err := conn[0].Producer(t.Context(), load.TenantName(0))
	require.NoError(t, err)
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{{Tenant: load.TenantName(0), Queue: "q0", Payload: []byte("x")}}, make([]error, 1)))
	require.NoError(t, conn[0].Close())
	r, _ = attach(t, s)
	assert.Equal(t, result.Misconfigured, r.Verdict)
	assert.Equal(t, []string{"round 1: the servers hold 1 tasks of queue q0 of tenant t0, which the scenario uses, expected none: remove them with 'queued queues delete', or wait until they are completed"}, r.Reasons)
}

// bySSH returns a topology of servers that ssh starts on a test's host, and the folder there.
func bySSH(t *testing.T, on *sshtest.Server, nodes int) (scenario.Topology, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "queued")
	of := scenario.Topology{Kind: scenario.Remote, Nodes: nodes, Shards: 1, Durability: "none", Listen: "tcp", Remote: &scenario.RemoteServers{}}
	for i := range nodes {
		n := scenario.RemoteNode{Name: scenario.NodeName(i), SSH: string(on.Host), Dir: dir}
		for _, into := range []*string{&n.Address, &n.HTTP, &n.Admin, &n.Peer} {
			*into = reservedAddress(t)
		}
		of.Remote.Nodes = append(of.Remote.Nodes, n)
	}
	return of, dir
}

// reservedAddress returns an address on which a server can listen repeatedly. A bound socket
// reserves the port until the test ends: the kernel does not assign it to other sockets, and
// servers can share it, because both sides set SO_REUSEADDR.
func reservedAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	require.IsType(t, &syscall.SockaddrInet4{}, at)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*syscall.SockaddrInet4).Port))
}

// onlyTheProgram checks that servers left only their program on their host.
func onlyTheProgram(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Regexp(t, `^queued-[0-9a-f]{16}$`, filepath.Base(left[0]))
}

// The server binary is copied to its host once, started and stopped for each round, and left there
// as the only file.
func TestStartBySSH(t *testing.T) {
	on := sshtest.Start(t)
	s := small()
	var dir string
	s.Topology, dir = bySSH(t, on, 1)
	s.Topology.TLS, s.Topology.Procs, s.Rounds = true, 1, 2
	t.Setenv("QUEUED_DURABILITY", "sync") // of this host's environment, which is not passed on
	r, folder, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: queued, Command: []string{"prony"}, Progress: &screen{}})
	require.NoError(t, err)
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Positive(t, r.Metrics[result.CyclesPerS].Median)
	assert.Positive(t, r.Metrics[result.ServerRSSMBMax].Median)
	// It may be 0: the kernel counts CPU time in steps of 10 ms, and the window is short.
	assert.Contains(t, r.Metrics, result.ServerCPUUsPerCycle)
	require.Len(t, r.Manifest.Hosts, 1)
	h := r.Manifest.Hosts[0]
	assert.Equal(t, result.HostFromSSH, h.From)
	assert.Equal(t, "n1", h.Node)
	assert.Equal(t, "Linux", h.OS)
	assert.Positive(t, h.CPUs)
	assert.Equal(t, 1, h.GOMAXPROCS, "the scenario's")
	assert.NotEmpty(t, h.Filesystem)
	assert.NotNil(t, h.Load)
	assert.NotContains(t, h.Unknown, "memory_mb")
	settings := map[string]string{}
	for _, setting := range r.Manifest.Servers[0].Settings {
		settings[setting.Name] = setting.Value
	}
	assert.Equal(t, "none", settings["durability"])
	for i := range 2 {
		log, err := os.ReadFile(filepath.Join(folder, logsDir, fmt.Sprintf("server-%02d.log", i+1)))
		require.NoError(t, err)
		assert.Contains(t, string(log), "msg=stopped", "the server stopped cleanly")
	}
	pushes := 0
	for _, command := range on.Commands() {
		if strings.Contains(command, "sha256sum") {
			pushes++
		}
	}
	assert.Equal(t, 1, pushes, "the second round found the program there")
	onlyTheProgram(t, dir)
}

// A cluster on other hosts survives that a fault kills a node over ssh, and is removed afterwards.
func TestFaultsBySSH(t *testing.T) {
	on := sshtest.Start(t)
	s := faulty(2*time.Second, scenario.Fault{Kind: scenario.FaultKill, Target: scenario.Target{Kind: scenario.TargetFollower}, At: 100 * time.Millisecond, For: 100 * time.Millisecond},
		scenario.Fault{Kind: scenario.FaultPause, Target: scenario.Target{Kind: scenario.TargetFollower}, At: time.Second, For: 200 * time.Millisecond})
	var dir, folder string
	s.Topology, dir = bySSH(t, on, 3)
	r := untilRecovered(t, s, func() (r *result.Result) {
		var err error
		r, folder, err = Execute(t.Context(), s, Options{Out: t.TempDir(), Server: queued, Command: []string{"prony"}, Progress: &screen{}})
		require.NoError(t, err)
		return r
	})
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	round := r.Rounds[0]
	require.NotNil(t, round.Faults)
	assert.Len(t, round.Faults.Events, 2)
	assert.Zero(t, round.Ledger.Lost+round.Ledger.Duplicated)
	killed := round.Faults.Events[0].Nodes[0]
	log, err := os.ReadFile(filepath.Join(folder, logsDir, "server-01-"+killed+".log"))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(log), "msg=serving"), "the node was started twice")
	assert.NotContains(t, r.Metrics, result.ServerCPUUsPerCycle, "a killed process does not report its usage")
	assert.Contains(t, strings.Join(r.Warnings, "\n"), killed+": its CPU time is unknown: it was restarted in the window")
	onlyTheProgram(t, dir)
}

// The error names a host that cannot be reached, or whose folder cannot be created.
func TestHostsThatCannotBePrepared(t *testing.T) {
	on := sshtest.Start(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct{ ssh, dir, says string }{
		{"sshtest.invalid", "/nowhere", "server: prepare its host: ssh sshtest.invalid: exit status 255"},
		{string(on.Host), filepath.Join(file, "dir"), "server: prepare its host: ssh sshtest: exit status 1: mkdir"},
	} {
		s := small()
		s.Topology, _ = bySSH(t, on, 1)
		s.Topology.Remote.Nodes[0].SSH, s.Topology.Remote.Nodes[0].Dir = c.ssh, c.dir
		r, _, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: queued, Command: []string{"prony"}, Progress: &screen{}})
		require.NoError(t, err)
		assert.Equal(t, result.Misconfigured, r.Verdict)
		require.Len(t, r.Reasons, 1)
		assert.Contains(t, r.Reasons[0], c.says)
	}
}

// If the connection to a remote server is cut, the server has ended for the run and stops itself on
// its host.
func TestACutConnectionEndsTheRun(t *testing.T) {
	on := sshtest.Start(t)
	s := small()
	s.Topology, _ = bySSH(t, on, 1)
	forTime(s, time.Minute)
	shown := &screen{}
	done := make(chan struct{})
	var r *result.Result
	var err error
	go func() {
		defer close(done)
		r, _, err = Execute(t.Context(), s, Options{Out: t.TempDir(), Server: queued, Command: []string{"prony"}, Progress: shown, Terminal: true})
	}()
	require.Eventually(t, func() bool { return strings.Contains(shown.String(), ", window ") }, patience, 10*time.Millisecond)
	on.Cut()
	select {
	case <-done:
	case <-time.After(2 * patience):
		require.Fail(t, "the run does not end")
	}
	require.NoError(t, err)
	assert.Equal(t, result.Incorrect, r.Verdict)
	assert.Contains(t, strings.Join(r.Reasons, "\n"), "the connection ended, or could not be opened")
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", s.Topology.Remote.Nodes[0].Address)
		if err != nil {
			return true
		}
		return c.Close() != nil
	}, patience, 10*time.Millisecond, "the server no longer listens")
}

// Builds cannot be compared on attached servers.
func TestAttachedServersAreNotCompared(t *testing.T) {
	t.Parallel()
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.Remote, Nodes: 1, Remote: &scenario.RemoteServers{Nodes: []scenario.RemoteNode{{Name: "n1"}}}}
	_, err := Interleave(t.Context(), s, []Arm{{Name: Base}, {Name: Change}}, ArmsOptions{})
	require.ErrorContains(t, err, "attaches to servers that already run")
}
