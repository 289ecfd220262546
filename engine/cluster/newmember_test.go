package cluster

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/replica/peer/certs"
	"github.com/pronybench/prony/engine/rpc/route"
)

// listener is a process that accepts connections and answers with a text, or not at all.
func listener(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var conns []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			conns = append(conns, c)
			if text != "" {
				_, _ = c.Write([]byte(text)) // an error means that the dialer disconnected
			}
		}
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		<-done
	})
	return l.Addr().String()
}

// Adding an absent or unsuitable node is refused in time, with the reason, and adds nothing.
func TestANodeIsAddedOnlyIfItIsThere(t *testing.T) {
	k := startNodes(t, 2)[0]
	// It waits for its cluster.
	free := startNode(t, Config{Node: "n7", Listen: "127.0.0.1:0", CertsDir: certstest.Dir(t, "n7"), Join: []string{listener(t, "")}})
	alone := startNode(t, Config{Node: "n8", Listen: "127.0.0.1:0", CertsDir: certstest.Dir(t, "n8")})
	require.Eventually(t, func() bool { return alone.Leader(0) == "n8" }, patience, 10*time.Millisecond)
	ca, err := certs.NewCA(time.Now())
	require.NoError(t, err)
	foreignCerts := t.TempDir()
	require.NoError(t, ca.WriteNode(foreignCerts, "n6", time.Now()))
	foreign := startNode(t, Config{Node: "n6", Listen: "127.0.0.1:0", CertsDir: foreignCerts})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := l.Addr().String()
	require.NoError(t, l.Close())
	other, _ := k.Member("n1")
	before, _ := k.currentMembers()
	for name, c := range map[string]struct {
		node, address string
		field, says   string
	}{
		"no process":                {"n9", nobody, "address", "no node of this cluster answers at " + nobody + ": dial the node at " + nobody + " for calls: dial tcp " + nobody + ": connect: connection refused. Nothing was added"},
		"a silent process":          {"n9", listener(t, ""), "address", "no answer within 3s"},
		"another program":           {"n9", listener(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "address", "the other side does not speak TLS: it is not a node"},
		"another node":              {"n9", free.Addr(), "address", "found node n7 at " + free.Addr() + " instead of node n9"},
		"a node of another cluster": {"n8", alone.Addr(), "node", `"n8", at ` + alone.Addr() + ", is a member of another cluster"},
		"a member":                  {"n1", other.PeerAddress, "node", `"n1" is already a member, at ` + other.PeerAddress},
		"a member at a new address": {"n1", free.Addr(), "node", ": remove it first, and add it with the new address"},
		"the address of a member":   {"n9", other.PeerAddress, "address", "is the address of node n1"},
		"the node itself":           {"n0", k.Addr(), "node", `"n0" is already a member`},
		"unknown host name":         {"n9", "no-such-host.invalid:7073", "address", "no node of this cluster answers at no-such-host.invalid:7073"},
		"a node of another CA":      {"n6", foreign.Addr(), "address", "each node needs its own certificate from the cluster's CA"},
	} {
		var refused *route.ChangeError
		// On a busy host, an election causes another error, and a node may answer too late.
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			err := k.Change(ctx, route.ClusterChange{Kind: route.AddMember, Node: c.node, Address: c.address, Voter: true, Shard: route.AllShards})
			assert.Less(t, time.Since(began), patience/2, name) // visitMax and askMax bound it
			assert.Error(t, err, name)
			return errors.As(err, &refused) && (strings.Contains(refused.Problem, c.says) || !strings.Contains(refused.Problem, "no answer within"))
		}, patience, 10*time.Millisecond, name)
		assert.Equal(t, c.field, refused.Field, name)
		assert.Contains(t, refused.Problem, c.says, name)
		after, _ := k.currentMembers()
		assert.Equal(t, before, after, name)
	}
	// A node that waits to be added is accepted.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, k.visit(ctx, route.ClusterChange{Node: "n7", Address: free.Addr()}))
}
