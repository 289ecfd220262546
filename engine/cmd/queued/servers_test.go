package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first server that answers is used. A failed server costs no time, and a silent one costs
// nextServerAfter.
func TestTheFirstAnswerCounts(t *testing.T) {
	const never = time.Hour
	failed := errors.New("refused")
	type server struct {
		after time.Duration
		err   error
	}
	for name, c := range map[string]struct {
		servers []server
		want    int
		costs   time.Duration
	}{
		"the first":                        {[]server{{time.Millisecond, nil}, {0, nil}}, 0, time.Millisecond},
		"the first is down":                {[]server{{0, failed}, {time.Millisecond, nil}, {0, nil}}, 1, time.Millisecond},
		"the first is silent":              {[]server{{never, nil}, {time.Millisecond, nil}}, 1, nextServerAfter + time.Millisecond},
		"the first is slow":                {[]server{{nextServerAfter + time.Millisecond, nil}, {never, nil}}, 0, nextServerAfter + time.Millisecond},
		"two are silent":                   {[]server{{never, nil}, {never, nil}, {0, nil}}, 2, 2 * nextServerAfter},
		"one is silent, and one is down":   {[]server{{never, nil}, {0, failed}, {0, nil}}, 2, nextServerAfter},
		"the second fails after the third": {[]server{{0, failed}, {2 * nextServerAfter, failed}, {2 * nextServerAfter, nil}}, 2, 3 * nextServerAfter},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got, err := firstAnswer(t.Context(), len(c.servers), func(ctx context.Context, i int) error {
				select {
				case <-time.After(c.servers[i].after):
					return c.servers[i].err
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			require.NoError(t, err, name)
			assert.Equal(t, c.want, got, name)
			assert.Equal(t, c.costs, time.Since(began), name)
		})
	}
	_, err := firstAnswer(t.Context(), 2, func(_ context.Context, i int) error { return errors.New([]string{"a is down", "b is down"}[i]) })
	assert.EqualError(t, err, "no server answers: a is down; b is down")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = firstAnswer(ctx, 2, func(ctx context.Context, _ int) error { return ctx.Err() })
	assert.ErrorIs(t, err, context.Canceled, "an interrupted command reports the interrupt")
}

// A command uses the first server that answers. Of the other addresses, one has no listener, and
// the other belongs to a process that accepts connections and never answers, like a node that
// hangs.
func TestCommandsUseTheFirstServerThatAnswers(t *testing.T) {
	t.Parallel()
	s, n := serveInProcess(t)
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hangs.Close()) })
	const nobody = "127.0.0.1:1"
	silent := hangs.Addr().String()
	for _, others := range []string{nobody, silent, nobody + "," + silent, silent + ", " + nobody} {
		queues, admins := others+","+n.Addresses()[0], others+","+n.Admin()
		s.ok("enqueue", "--queue", "q", "x", "--server", queues)
		s.ok("queues", "list", "--admin-server", admins)
		s.ok("claim", "--queue", "q", "--server", others, "--server", n.Addresses()[0])
		s.in = "a\nb\n"
		s.ok("enqueue", "--queue", "q", "--lines", "--server", queues)
		variables := *s
		variables.env = append(variables.env, "QUEUED_SERVER="+queues, "QUEUED_ADMIN_SERVER="+admins)
		variables.ok("enqueue", "--queue", "q", "x")
		variables.ok("status")
		variables.run("probe").fails(exitUsage, "'queued probe' asks one server", "pass --admin-server with one of them")
		assert.Equal(t, "ok\n", variables.ok("probe", "--admin-server", n.Admin()))
	}
	r := s.run("status", "--admin-server", nobody+","+silent, "--timeout", "400ms")
	r.fails(exitUnreachable, "queued: no server answers: can't reach the server at 127.0.0.1:1: ", "; can't reach the server at "+silent, "is it running?")
	s.run("status", "--admin-server", n.Admin()+",nowhere").fails(exitUsage, `"nowhere" is not a server address`)
	s.run("status", "--admin-server", n.Admin()+",").fails(exitUsage, `"" is not a server address`)
	s.run("status", "--admin-server", strings.Repeat(n.Admin()+",", serversMax)+n.Admin()).fails(exitUsage, "17 addresses of servers are given: name at most 16")
}

// The token may be in the folder of any node: a pattern selects the newest file.
func TestATokenFileMayBeAPattern(t *testing.T) {
	dir := t.TempDir()
	pattern := filepath.Join(dir, "n?", "admin.token")
	_, err := readSecret("--token-file", pattern)
	require.EqualError(t, err, "--token-file: no file matches "+pattern)
	require.ErrorAs(t, err, new(noTokenFileError))
	for i, node := range []string{"n2", "n1", "n3"} {
		path := filepath.Join(dir, node, "admin.token")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("secret-of-"+node+"\n"), 0o600))
		changed := time.Unix(1_000_000+int64(i%2), 0)
		require.NoError(t, os.Chtimes(path, changed, changed))
	}
	secret, err := readSecret("--token-file", pattern)
	require.NoError(t, err)
	assert.Equal(t, "secret-of-n1", secret)
	_, err = readSecret("--token-file", filepath.Join(dir, "["))
	require.ErrorContains(t, err, "syntax error in pattern")
	exact := filepath.Join(dir, "a*") // a file with this name exists
	require.NoError(t, os.WriteFile(exact, []byte("exact"), 0o600))
	secret, err = readSecret("--token-file", exact)
	require.NoError(t, err)
	assert.Equal(t, "exact", secret)
}
