package doctor

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// clusterNode returns a startable node of a cluster of two, whose peer answers.
func clusterNode(t *testing.T) Input {
	t.Helper()
	in := input(t)
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, peer.Close()) })
	in.Config.Node.Cluster = cluster.Config{
		Node: "n1", Listen: "127.0.0.1:0", CertsDir: nodeCertificate(t, now), ClockSkewMax: 500 * time.Millisecond,
		Peers: map[string]string{"n1": "127.0.0.1:1", "n2": peer.Addr().String()},
	}
	return in
}

// nodeCertificate returns the folder of node n1 with certificates made at the given time.
func nodeCertificate(t *testing.T, at time.Time) string {
	t.Helper()
	ca, err := certs.NewCA(at)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, ca.WriteNode(dir, "n1", at))
	return dir
}

func TestAHealthyNodeOfACluster(t *testing.T) {
	in := clusterNode(t)
	all := Run(t.Context(), in)
	for check, says := range map[string]string{
		"admin token": "not here: the first leader creates it", "cluster certificate": "valid until 2035-01-31", "cluster listen": "127.0.0.1:0 is free", "cluster peers": "n2 can be reached at 127.0.0.1:",
	} {
		f := find(t, all, check)
		assert.Equal(t, Fit, f.Level, "%v", f)
		assert.Contains(t, f.Message, says)
	}
	for _, f := range all {
		assert.NotEqual(t, "cluster clocks", f.Check, "no server runs that could name the others")
		assert.NotContains(t, f.Message, "n1 can", "a node does not reach for itself")
	}
}

// Each cluster finding is provoked.
func TestClusterFindings(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close() //nolint:errcheck // ends with the test
	for name, c := range map[string]struct {
		spoil func(n *node.Config)
		check string
		level Level
		says  string
	}{
		"no certificate": {func(n *node.Config) { n.Cluster.CertsDir = t.TempDir() }, "cluster certificate", Unfit, "'queued cluster init' makes the folder"},
		"another node's": {func(n *node.Config) { n.Cluster.Node = "n2" }, "cluster certificate", Unfit, `is for ["n1"], not for node n2`},
		"expires soon":   {func(n *node.Config) { n.Cluster.CertsDir = nodeCertificate(t, now.AddDate(-5, 0, 7)) }, "cluster certificate", Warning, "it expires on 2030-02-07"},
		"readable by all": {func(n *node.Config) {
			require.NoError(t, os.Chmod(filepath.Join(n.Cluster.CertsDir, certs.KeyFile), 0o644))
		}, "cluster certificate", Warning, "can be read by others"},
		"port taken":      {func(n *node.Config) { n.Cluster.Listen = taken.Addr().String() }, "cluster listen", Unfit, "address already in use"},
		"peer down":       {func(n *node.Config) { n.Cluster.Peers["n3"] = "127.0.0.1:1" }, "cluster peers", Warning, "n3 can't be reached at 127.0.0.1:1: "},
		"no node to join": {func(n *node.Config) { n.Cluster.Join = []string{"127.0.0.1:1"} }, "cluster peers", Warning, "the node to join can't be reached at 127.0.0.1:1: "},
		"alone":           {func(n *node.Config) { n.Cluster.Peers = nil }, "cluster peers", Fit, "none: at its first start"},
	} {
		in := clusterNode(t)
		c.spoil(&in.Config.Node)
		f := find(t, Run(t.Context(), in), c.check)
		assert.Equal(t, c.level, f.Level, "%s: %v", name, f)
		assert.Contains(t, f.Message, c.says, name)
		if f.Level != Fit {
			assert.NotEmpty(t, f.Remedy, name)
		}
	}
}
