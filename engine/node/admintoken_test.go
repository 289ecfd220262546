package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// tokenStore stores access records, or fails.
type tokenStore struct {
	records map[string][]byte
	fails   error
	late    []access.Record // records that a failed change stored nevertheless
}

func (s *tokenStore) Load(context.Context) (out []access.Record, err error) {
	for key, value := range s.records {
		out = append(out, access.Record{Key: key, Value: value})
	}
	return out, nil
}

func (s *tokenStore) Save(_ context.Context, puts []access.Record, deletes []string) error {
	if s.fails != nil {
		s.late = slices.Clone(puts)
		return s.fails
	}
	for _, key := range deletes {
		delete(s.records, key)
	}
	for _, r := range puts {
		s.records[r.Key] = r.Value
	}
	return nil
}

func tokenNode(t *testing.T) (*Node, *tokenStore) {
	t.Helper()
	s := &tokenStore{records: map[string][]byte{}}
	n := &Node{registry: access.New(access.Options{}), tokenFile: filepath.Join(t.TempDir(), adminTokenFile), log: slog.New(slog.DiscardHandler)}
	t.Cleanup(n.registry.Close)
	require.NoError(t, n.registry.Load(t.Context(), s))
	return n, s
}

// requireTokenFile checks that the folder has only the token file, with a secret that the registry
// accepts, or no file.
func (n *Node) requireTokenFile(t *testing.T, is bool) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(n.tokenFile))
	require.NoError(t, err)
	if !is {
		require.Empty(t, files)
		return
	}
	require.Len(t, files, 1)
	secret, err := os.ReadFile(n.tokenFile)
	require.NoError(t, err)
	_, err = n.registry.Authenticate(string(secret[:len(secret)-1]), time.Now())
	require.NoError(t, err)
}

// The token file never has the secret of an unstored token: neither after leadership is lost, nor
// while the outcome is unknown.
func TestAFailedAdminTokenLeavesNoSecret(t *testing.T) {
	for name, first := range map[string]bool{"the first": true, "another one": false} {
		t.Run(name, func(t *testing.T) {
			n, s := tokenNode(t)
			if !first {
				require.NoError(t, n.makeAdminToken(t.Context()))
			}
			s.fails = &shard.NotLeaderError{}
			require.ErrorIs(t, n.makeAdminToken(t.Context()), shard.ErrNotLeader)
			n.requireTokenFile(t, !first)

			s.fails = shard.ErrUnknownOutcome
			require.ErrorIs(t, n.makeAdminToken(t.Context()), shard.ErrUnknownOutcome)
			_, err := os.Stat(n.tokenFile)
			assert.Equal(t, first, os.IsNotExist(err))
			s.fails = nil
			require.NoError(t, n.registry.Follow(t.Context()))
			require.NoError(t, n.keepAdminToken(false), "the token may still be stored")
			require.NoError(t, n.keepAdminToken(true))
			n.requireTokenFile(t, !first)

			require.NoError(t, n.makeAdminToken(t.Context()))
			n.requireTokenFile(t, true)
		})
	}
}

// If the token was stored despite the unknown outcome, the token file gets its secret, whichever
// node leads then.
func TestAnAdminTokenThatIsStoredLateIsKept(t *testing.T) {
	n, s := tokenNode(t)
	s.fails = shard.ErrUnknownOutcome
	require.ErrorIs(t, n.makeAdminToken(t.Context()), shard.ErrUnknownOutcome)
	require.NoError(t, n.keepAdminToken(false))
	s.fails = nil
	require.NoError(t, s.Save(t.Context(), s.late, nil))
	require.NoError(t, n.registry.Follow(t.Context()))
	require.NoError(t, n.keepAdminToken(false))
	n.requireTokenFile(t, true)
	require.NoError(t, n.keepAdminToken(true))
	n.requireTokenFile(t, true)
}

// A start removes the secret of a token that a previous process did not store.
func TestAStartForgetsASecretWithoutAToken(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, Auth: true})
	require.NoError(t, err)
	require.NoError(t, first.Shutdown(t.Context()))
	secret, err := os.ReadFile(first.TokenFile())
	require.NoError(t, err)
	next := filepath.Join(dir, adminTokenFile+nextSuffix)
	require.NoError(t, os.WriteFile(next, []byte("of no token\n"), 0o600))
	n := openFor(t, func(c *Config) { c.DataDir, c.Auth = dir, true })
	assert.NoFileExists(t, next)
	kept, err := os.ReadFile(n.TokenFile())
	require.NoError(t, err)
	assert.Equal(t, secret, kept)
}
