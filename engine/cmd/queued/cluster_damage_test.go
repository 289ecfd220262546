package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDamagedNodeIsNamedAndReplaced flips a bit in the Raft log of a killed node. The node must not
// start, and must name the file and the remedy. The test then applies the remedy: the node joins
// with an empty data folder.
func TestDamagedNodeIsNamedAndReplaced(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--durability", "sync")
	for _, id := range clusterNodes {
		c.remembered(id)
	}
	l := c.load()
	l.goOn(100)
	damaged := c.follower()
	c.kill(damaged)
	logs, err := filepath.Glob(filepath.Join(c.nodes[damaged].data, "raft", "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	newest := slices.Max(logs)
	text, err := os.ReadFile(newest)
	require.NoError(t, err)
	text[100] ^= 1
	require.NoError(t, os.WriteFile(newest, text, 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "serve", "--data", c.nodes[damaged].data, "--auth", "off", "--listen", "127.0.0.1:0", "--http", "", "--admin", "127.0.0.1:0",
		"--cluster-node", damaged, "--cluster-listen", "127.0.0.1:0", "--cluster-peers", damaged+"=127.0.0.1:1", "--cluster-certs", c.nodes[damaged].certs).CombinedOutput()
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "it started: %s", out)
	require.Contains(t, string(out), filepath.Base(newest)+" is damaged")
	require.Contains(t, strings.ToLower(string(out)), "join again with an empty data folder")

	c.wipe(damaged)
	l.goOn(100)
	c.start(damaged)
	c.caughtUp(damaged)
	c.voter(damaged)
	c.transfer(damaged)
	l.goOn(100)
	l.end()
}
