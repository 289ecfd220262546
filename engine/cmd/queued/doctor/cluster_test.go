package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/node"
)

// clusterNode is a node of a cluster of two that could be started at once, beside a peer that answers.
func clusterNode(t *testing.T) Input {
	t.Helper()
	in := input(t)
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, peer.Close()) })
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600))
	in.Config.Node.Cluster = node.Cluster{
		Node: "n1", Listen: "127.0.0.1:0", SecretFile: secret, ClockSkewMax: 500 * time.Millisecond,
		Peers: map[string]string{"n1": "127.0.0.1:1", "n2": peer.Addr().String()},
	}
	return in
}

func TestAHealthyNodeOfACluster(t *testing.T) {
	in := clusterNode(t)
	all := Run(t.Context(), in)
	for check, says := range map[string]string{
		"admin token": "not here: the node that leads first makes it", "cluster secret": "is only this user's", "cluster listen": "127.0.0.1:0 is free", "cluster peers": "n2 can be reached at 127.0.0.1:",
	} {
		f := find(t, all, check)
		assert.Equal(t, OK, f.Level, "%v", f)
		assert.Contains(t, f.Message, says)
	}
	for _, f := range all {
		assert.NotEqual(t, "cluster clocks", f.Check, "no server runs that could name the others")
		assert.NotContains(t, f.Message, "n1 can", "a node does not reach for itself")
	}
}

// Each finding about a cluster, provoked.
func TestClusterFindings(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close() //nolint:errcheck // the test's own
	for name, c := range map[string]struct {
		spoil func(n *node.Config)
		check string
		level Level
		says  string
	}{
		"no secret":      {func(n *node.Config) { n.Cluster.SecretFile = "" }, "cluster secret", Warning, "whoever can connect is taken for a node"},
		"mTLS":           {func(n *node.Config) { n.Cluster.SecretFile, n.TLS.ClientCAFile = "", "ca" }, "cluster secret", OK, "the nodes show certificates"},
		"missing secret": {func(n *node.Config) { n.Cluster.SecretFile += "x" }, "cluster secret", Problem, "no such file"},
		"short secret": {func(n *node.Config) {
			require.NoError(t, os.WriteFile(n.Cluster.SecretFile, []byte("short"), 0o600))
		}, "cluster secret", Problem, "5 bytes"},
		"secret for all": {func(n *node.Config) { require.NoError(t, os.Chmod(n.Cluster.SecretFile, 0o644)) }, "cluster secret", Problem, "its mode 0644 lets others than its owner at it"},
		"port taken":     {func(n *node.Config) { n.Cluster.Listen = taken.Addr().String() }, "cluster listen", Problem, "address already in use"},
		"peer down":      {func(n *node.Config) { n.Cluster.Peers["n3"] = "127.0.0.1:1" }, "cluster peers", Warning, "n3 can't be reached at 127.0.0.1:1: "},
		"nobody to join": {func(n *node.Config) { n.Cluster.Join = []string{"127.0.0.1:1"} }, "cluster peers", Warning, "the node to join can't be reached at 127.0.0.1:1: "},
		"alone":          {func(n *node.Config) { n.Cluster.Peers = nil }, "cluster peers", OK, "none are named"},
	} {
		in := clusterNode(t)
		c.spoil(&in.Config.Node)
		f := find(t, Run(t.Context(), in), c.check)
		assert.Equal(t, c.level, f.Level, "%s: %v", name, f)
		assert.Contains(t, f.Message, c.says, name)
		if f.Level != OK {
			assert.NotEmpty(t, f.Remedy, name)
		}
	}
}

// telling is an admin listener of a node whose clock shows a time.
func telling(t *testing.T, clock time.Time) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", clock.UTC().Format(http.TimeFormat)) // which drops what is below a second
		_, _ = w.Write([]byte("ok\n"))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestClocksThatDiffer(t *testing.T) {
	here := now.Add(300 * time.Millisecond)
	for apart, want := range map[time.Duration]struct {
		level Level
		says  string
	}{
		0:                        {OK, "that of n2 agrees to within 700ms"},
		time.Second:              {Problem, "that of n2 is at least 700ms ahead of this one's; leases hold with up to 500ms"},
		-time.Second:             {OK, "agrees to within 1.3s"}, // it may have told the time just before its second was over,
		2 * time.Second:          {Problem, "that of n2 is at least 1.7s ahead of this one's; leases hold with up to 500ms"},
		-2 * time.Second:         {Problem, "that of n2 is at least 1.3s behind this one's; leases hold with up to 500ms"},
		-1500 * time.Millisecond: {Problem, "is at least 1.3s behind"},
	} {
		in := clusterNode(t)
		in.Host.Now = func() time.Time { return here }
		in.Config.Node.Admin = telling(t, here) // a server that runs
		in.Members = func(context.Context) (map[string]string, error) {
			return map[string]string{"n1": "127.0.0.1:1", "n2": telling(t, here.Add(apart))}, nil
		}
		f := find(t, Run(t.Context(), in), "cluster clocks")
		assert.Equal(t, want.level, f.Level, "%v: %v", apart, f)
		assert.Contains(t, f.Message, want.says, "%v", apart)
	}
	in := clusterNode(t)
	in.Config.Node.Admin = telling(t, here)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close() //nolint:errcheck // the test's own
	in.Config.Node.Cluster.Listen = busy.Addr().String()
	for says, members := range map[string]func(context.Context) (map[string]string, error){
		"the server does not tell the other nodes: no token": func(context.Context) (map[string]string, error) { return nil, errors.New("no token") },
		"n2 does not tell its time: ":                        func(context.Context) (map[string]string, error) { return map[string]string{"n2": "127.0.0.1:1"}, nil },
	} {
		in.Members = members
		all := Run(t.Context(), in)
		f := find(t, all, "cluster clocks")
		assert.Equal(t, Warning, f.Level)
		assert.Contains(t, f.Message, says)
		assert.Contains(t, find(t, all, "cluster listen").Message, "is in use, as it is beside a server that runs")
	}
}
