package topology

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

// newClusterSite returns a site with three nodes and two shards.
func newClusterSite(t *testing.T, mode string) *site {
	s := newSite(t, mode)
	s.config.Topology = scenario.Topology{Kind: "raft", Nodes: 3, Shards: 2, Durability: "none", Listen: "tcp"}
	return s
}

// assertAllEmpty is assertEmpty for all nodes.
func (s *site) assertAllEmpty(t *testing.T) {
	t.Helper()
	for i := range s.config.Topology.Nodes {
		node := fmt.Sprintf("n%d", i+1)
		text, err := os.ReadFile(s.pid + node)
		require.NoError(t, err, "%s never ran", node)
		pid, err := strconv.Atoi(string(text))
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d of %s is left", pid, node)
		require.FileExists(t, logOf(s.config.LogPath, node))
	}
	s.assertNoFolders(t)
}

// said returns the last value in a node's log of an argument of its start.
func said(t *testing.T, s *Server, what string) string {
	t.Helper()
	text, err := os.ReadFile(s.logPath)
	require.NoError(t, err)
	at := strings.LastIndex(string(text), what+"=")
	require.GreaterOrEqual(t, at, 0, "%s in %q", what, text)
	value, _, _ := strings.Cut(string(text[at+len(what)+1:]), " ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// whoAt connects to a peer address and returns the node that listens there.
func whoAt(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	name, err := io.ReadAll(c)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return string(name)
}

func TestClusterStartsAndStops(t *testing.T) {
	s := newClusterSite(t, "good")
	c := s.start(t)
	assert.Equal(t, "secret", c.Token)
	leaders, err := c.Leaders(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"n1", "n2"}, leaders, "Start returns when each shard has a leader")
	seen := map[string]bool{}
	for i, server := range c.Servers() {
		node := server.Node()
		assert.Equal(t, fmt.Sprintf("n%d", i+1), server.ID)
		assert.Equal(t, server.ID, whoAt(t, server.PeerAddress))
		for _, address := range []string{node.Address, node.HTTP, node.Admin, server.PeerAddress} {
			assert.False(t, seen[address], "%s has two servers", address)
			seen[address] = true
		}
		var peers []string
		for _, other := range c.Servers() {
			peers = append(peers, other.ID+"="+other.PeerAddress)
		}
		assert.Equal(t, strings.Join(peers, ","), said(t, server, "peers"))
		assert.Empty(t, said(t, server, "join"), "the initial members do not join")
		assert.Equal(t, "true", said(t, server, "coalesce"))
		assert.Equal(t, "2", said(t, server, "shards"))
		found, ok := c.Server(server.ID)
		require.True(t, ok)
		assert.Same(t, server, found)
	}
	_, ok := c.Server("n4")
	assert.False(t, ok)
	require.NoError(t, c.Stop(t.Context()))
	require.NoError(t, c.Failure())
	s.assertAllEmpty(t)
	for _, server := range c.Servers() {
		lines, err := server.Node().LastLines(1)
		require.NoError(t, err)
		assert.Equal(t, []string{"closed"}, lines, "%s ended in order", server.ID)
	}
}

// A node that lost the lead while it created its token leaves a file with an invalid token.
func TestClusterTakesTheTokenThatWasCommitted(t *testing.T) {
	s := newClusterSite(t, "lost lead")
	c := s.start(t)
	assert.Equal(t, "secret", c.Token)
	require.NoError(t, c.Stop(t.Context()))
	s.assertAllEmpty(t)
}

func TestClusterOfOneNodeThatProposesAlone(t *testing.T) {
	s := newClusterSite(t, "good")
	s.config.Topology.Nodes, s.config.Topology.Coalesce = 1, new(false)
	c := s.start(t)
	assert.Equal(t, "false", said(t, only(t, c), "coalesce"))
	leaders, err := c.Leaders(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"n1", "n1"}, leaders)
	require.NoError(t, c.Stop(t.Context()))
	s.assertAllEmpty(t)
}

// PeerAddress replaces the address of each link separately, and gets the node's own address.
func TestPeerAddressesAreTheCallers(t *testing.T) {
	s := newClusterSite(t, "good")
	real := map[string]string{}
	s.config.PeerAddress = func(from, to, address string) (string, error) {
		if before, asked := real[to]; asked {
			assert.Equal(t, before, address, "the address does not depend on the link")
		}
		real[to] = address
		return "10.0.0." + from[1:] + ":700" + to[1:], nil
	}
	c := s.start(t)
	assert.Equal(t, "n1="+real["n1"]+",n2=10.0.0.1:7002,n3=10.0.0.1:7003", said(t, c.Servers()[0], "peers"))
	assert.Equal(t, "n1=10.0.0.3:7001,n2=10.0.0.3:7002,n3="+real["n3"], said(t, c.Servers()[2], "peers"))
	assert.Equal(t, "n2", whoAt(t, real["n2"]))
}

func TestNodeIsKilledAndStartedAgain(t *testing.T) {
	texts := golden.Cases(t, "testdata/members.golden")
	s := newClusterSite(t, "good")
	c := s.start(t)
	server := c.Servers()[1]
	first := server.Node()
	texts.Error(t, "start a running node", server.Start(t.Context()))
	texts.Error(t, "wipe a running node", server.Wipe())
	require.NoError(t, server.Kill())
	leaders, err := c.Leaders(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"n1", ""}, leaders, "only running nodes are asked")

	require.NoError(t, server.Start(t.Context()))
	require.NoError(t, server.WaitReady(t.Context()))
	next := server.Node()
	assert.NotEqual(t, first.PID, next.PID)
	assert.Equal(t, []string{first.Address, first.HTTP, first.Admin}, []string{next.Address, next.HTTP, next.Admin}, "the addresses do not change")
	assert.Equal(t, "n2", whoAt(t, server.PeerAddress))
	lines, err := next.LastLines(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"found records"}, lines)
	require.NoError(t, c.WaitForLeaders(t.Context()))
	assert.Empty(t, said(t, server, "join"), "a member does not join")

	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, c.Failure(), "requested ends are no failures")
	require.NoError(t, c.Stop(t.Context()))
	s.assertAllEmpty(t)
	texts.Error(t, "start a node of a stopped cluster", server.Start(t.Context()))
}

// Nodes on a busy host that do not answer in time are asked again.
func TestLeadersOfNodesThatAnswerLate(t *testing.T) {
	s := newClusterSite(t, "good")
	c := s.start(t)
	require.Eventually(t, func() bool { // a pause of the host may delay one of the second answers too
		for _, server := range c.Servers() {
			assert.NoError(t, os.WriteFile(filepath.Join(server.certsDir(), silentFile), nil, 0o600))
		}
		leaders, err := c.Leaders(t.Context())
		return assert.NoError(t, err) && slices.Equal(leaders, []string{"n1", "n2"})
	}, wait, tick)
}

// An isolated node may not know the new leader yet. The majority decides.
func TestLeaderIsWhomMostNodesName(t *testing.T) {
	s := newClusterSite(t, "split")
	s.config.Topology.Shards = 1
	leaders, err := s.start(t).Leaders(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"n2"}, leaders)
}

func TestWipedNodeJoinsAgain(t *testing.T) {
	s := newClusterSite(t, "good")
	c := s.start(t)
	server := c.Servers()[2]
	require.NoError(t, server.Kill())
	require.NoError(t, server.Wipe())
	left, err := os.ReadDir(server.DataDir())
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, server.Start(t.Context()))
	assert.Equal(t, c.Servers()[0].PeerAddress+","+c.Servers()[1].PeerAddress, said(t, server, "join"))
	assert.FileExists(t, filepath.Join(server.DataDir(), "store"))
	require.NoError(t, server.Kill())
	require.NoError(t, server.Start(t.Context()))
	assert.Empty(t, said(t, server, "join"), "the node has joined before")
}

func TestPausedNodeIsStopped(t *testing.T) {
	s := newClusterSite(t, "good")
	c := s.start(t)
	server := c.Servers()[0]
	require.NoError(t, server.Pause())
	require.Eventually(t, func() bool { return stateOf(t, server.Node().PID) == "T" }, wait, tick)
	require.NoError(t, server.Resume())
	require.Eventually(t, func() bool { return stateOf(t, server.Node().PID) != "T" }, wait, tick)
	require.NoError(t, server.Pause())
	require.NoError(t, c.Stop(t.Context()), "a paused node ends in order")
	require.NoError(t, server.Resume(), "an ended node needs no resume")
	s.assertAllEmpty(t)
}

func stateOf(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[:1]
}

// The failure of any node removes everything.
func TestClusterThatFails(t *testing.T) {
	t.Run("one node ends unexpectedly", func(t *testing.T) {
		s := newClusterSite(t, "good")
		c := s.start(t)
		require.NoError(t, c.Servers()[1].Node().process.Kill())
		<-c.Failed()
		err := c.Stop(t.Context())
		require.ErrorContains(t, err, "n2: the server ended by itself")
		assert.Equal(t, "signal: killed", serverError(t, err).Status)
		s.assertAllEmpty(t)
	})
	t.Run("a node ends unexpectedly and is restarted", func(t *testing.T) {
		s := newClusterSite(t, "good")
		c := s.start(t)
		require.NoError(t, c.Servers()[1].Node().process.Kill())
		<-c.Failed()
		require.NoError(t, c.Servers()[1].Start(t.Context()))
		err := c.Stop(t.Context())
		require.ErrorContains(t, err, "n2: the server ended by itself")
		assert.Equal(t, "signal: killed", serverError(t, err).Status)
		s.assertAllEmpty(t)
	})
	t.Run("one node does not end", func(t *testing.T) {
		s := newClusterSite(t, "stubborn n2")
		s.config.StopTimeout = soon
		c := s.start(t)
		err := c.Stop(t.Context())
		require.ErrorContains(t, err, "n2: the server was killed: it did not end within 300ms of SIGTERM")
		assert.NotContains(t, err.Error(), "ended by itself")
		s.assertAllEmpty(t)
	})
	t.Run("nobody leads", func(t *testing.T) {
		s := newClusterSite(t, "leaderless")
		s.config.StartTimeout = soon
		var err error
		for { // until all nodes got far enough within the timeout
			if _, err = Start(t.Context(), s.config); strings.Contains(err.Error(), "has no leader") || s.config.StartTimeout > wait {
				break
			}
			s.config.StartTimeout *= 2
		}
		require.ErrorContains(t, err, "n1: the server was not ready within")
		require.ErrorContains(t, err, "shard 0 has no leader")
		s.assertAllEmpty(t)
	})
	t.Run("the routes belong to another cluster", func(t *testing.T) {
		s := newClusterSite(t, "too many shards")
		_, err := Start(t.Context(), s.config)
		require.ErrorContains(t, err, "leaders: the routes belong to another cluster: n1 names shard 99 of 2")
		assert.NotContains(t, err.Error(), "was not ready within", "Start does not wait for the timeout")
		s.assertAllEmpty(t)
	})
	t.Run("the start is cancelled during the creation of certificates", func(t *testing.T) {
		s := newClusterSite(t, "endless init")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := Start(ctx, s.config)
			ended <- err
		}()
		require.Eventually(t, func() bool {
			_, err := os.Stat(s.pid)
			return err == nil
		}, wait, tick)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		s.assertNoFolders(t)
	})
	t.Run("a port is in use", func(t *testing.T) {
		s := newClusterSite(t, "good")
		s.config.PeerAddress = func(_, _, address string) (string, error) {
			// The reservation is a socket that does not listen, so a socket with SO_REUSEADDR can
			// listen on the port.
			if l, err := net.Listen("tcp", address); err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return address, nil
		}
		_, err := Start(t.Context(), s.config)
		require.ErrorContains(t, err, "ended before it was ready")
		require.ErrorContains(t, err, "address already in use")
		s.assertNoFolders(t)
	})
}

// The kernel never chooses a reserved port for another socket, and its server can bind it.
func TestReservedPort(t *testing.T) {
	r, err := reserve(0)
	require.NoError(t, err)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(r.address)
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.NoError(t, syscall.Close(fd))
	for range 2 { // like a server that is restarted
		l, err := net.Listen("tcp", r.address)
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
	require.NoError(t, r.release())
}
