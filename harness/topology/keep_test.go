package topology

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

// keep configures a folder for a site's kept servers.
func (s *site) keep(t *testing.T) *site {
	t.Helper()
	s.config.Keep = t.TempDir()
	return s
}

func (s *site) resume(t *testing.T) *Cluster {
	t.Helper()
	c, err := Resume(t.Context(), s.config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	return c
}

func addressesOf(c *Cluster) (all [][3]string) {
	for _, s := range c.Servers() {
		n := s.Node()
		all = append(all, [3]string{n.Address, n.HTTP, n.Admin})
	}
	return all
}

// Data, ports and the token outlive a cluster, whether its servers were stopped or killed.
func TestKeptServersAreResumed(t *testing.T) {
	for _, listen := range []string{"tcp", "unix"} {
		t.Run(listen, func(t *testing.T) {
			s := newSite(t, "token").keep(t)
			s.config.Topology.Listen = listen
			there, err := Kept(s.config.Keep)
			require.NoError(t, err)
			assert.False(t, there)
			first := s.start(t)
			was := addressesOf(first)
			require.NoError(t, first.Stop(t.Context()))
			s.assertEmpty(t)
			there, err = Kept(s.config.Keep)
			require.NoError(t, err)
			assert.True(t, there)
			_, err = Start(t.Context(), s.config)
			require.ErrorContains(t, err, "contains servers: resume them, or use another folder")

			for _, how := range []string{"stopped", "killed"} {
				c := s.resume(t)
				is := addressesOf(c)
				if listen == "unix" {
					is[0][0] = was[0][0] // the socket's folder is temporary
				}
				assert.Equal(t, was, is)
				assert.Equal(t, "secret", c.Token)
				lines, err := only(t, c).Node().LastLines(1)
				require.NoError(t, err)
				assert.Equal(t, []string{"found records"}, lines)
				if how == "killed" {
					require.NoError(t, only(t, c).Node().process.Kill())
					err := c.Stop(t.Context())
					require.ErrorContains(t, err, "ended by itself")
					assert.Equal(t, "signal: killed", serverError(t, err).Status)
				} else {
					require.NoError(t, c.Stop(t.Context()))
				}
				s.assertEmpty(t)
			}
			s.resume(t)
		})
	}
}

func TestKeptNodesAreResumed(t *testing.T) {
	s := newClusterSite(t, "good").keep(t)
	c := s.start(t)
	was := addressesOf(c)
	peers := said(t, c.Servers()[0], "peers")
	require.NoError(t, c.Servers()[2].Kill())
	require.NoError(t, c.Servers()[2].Wipe())
	require.NoError(t, c.Stop(t.Context()))
	s.assertAllEmpty(t)

	c = s.resume(t)
	assert.Equal(t, was, addressesOf(c))
	assert.Equal(t, peers, said(t, c.Servers()[0], "peers"))
	assert.Empty(t, said(t, c.Servers()[0], "join"))
	assert.NotEmpty(t, said(t, c.Servers()[2], "join"), "a node without data joins the cluster")
}

// A start that fails, before or after the servers could be started, leaves no state that prevents
// another start.
func TestAStartThatFailedLeavesNoStateBehind(t *testing.T) {
	s := newSite(t, "never ready").keep(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, s.config)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	s.config.Env[0] = helperMode + "=good"
	c := s.resume(t)
	require.NoError(t, c.Stop(t.Context()))

	require.NoError(t, os.Remove(filepath.Join(s.config.Keep, KeptDir, stateFile)))
	_, err = Resume(t.Context(), s.config)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "resume topology: read the state of the servers: ")
	c = s.start(t)
	lines, err := only(t, c).Node().LastLines(1)
	require.NoError(t, err)
	assert.NotContains(t, lines[0], "found records", "the data is new")
}

func TestResumeSaysWhatIsWrong(t *testing.T) {
	portWait = 100 * time.Millisecond
	defer func() { portWait = 5 * time.Second }()
	s := newSite(t, "token").keep(t)
	c := s.start(t)
	admin := only(t, c).Node().Admin
	require.NoError(t, c.Stop(t.Context()))
	texts := golden.Cases(t, "testdata/resume.golden")
	texts.Replace(admin, "ADDRESS")
	texts.Replace(s.config.Keep, "KEEP")

	taken, err := net.Listen("tcp", admin)
	require.NoError(t, err)
	_, err = Resume(t.Context(), s.config)
	texts.Error(t, "a taken port", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Resume(ctx, s.config)
	require.ErrorIs(t, err, context.Canceled)
	portWait = time.Minute
	// A server that is being killed releases its port in the same way.
	time.AfterFunc(50*time.Millisecond, func() { _ = taken.Close() })
	require.NoError(t, s.resume(t).Stop(t.Context()))

	other := s.config
	other.Topology.Durability = "sync"
	_, err = Resume(t.Context(), other)
	texts.Error(t, "another topology", err)
	other.Topology = scenario.Topology{Kind: scenario.Embedded, Durability: "none"}
	_, err = Resume(t.Context(), other)
	texts.Error(t, "no process", err)

	path := filepath.Join(s.config.Keep, KeptDir, stateFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	write := func(from, to string) {
		require.Contains(t, string(text), from)
		require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
	}
	write(`"token": "secret"`, `"token": "kept"`)
	c = s.resume(t)
	assert.Equal(t, "kept", c.Token, "the token file may be missing")
	require.NoError(t, c.Stop(t.Context()))
	write(`"version": 1`, `"version": 2`)
	_, err = Resume(t.Context(), s.config)
	texts.Error(t, "another version", err)
	write(`"version"`, `version`)
	_, err = Resume(t.Context(), s.config)
	texts.Error(t, "damaged", err)
}
