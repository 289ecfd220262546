package cluster

import (
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/replica/peer"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// admissionOf returns the admission of node n1 with a new data folder.
func admissionOf(t *testing.T, c Config, mux *peer.Mux) *admission {
	t.Helper()
	c.Node = "n1"
	d, err := openIdentity(t.TempDir(), false)
	require.NoError(t, err)
	return &admission{
		config: &c, groups: &groups{node: c.Node}, mux: mux, identity: d, host: testHost{t}, log: slog.New(slog.DiscardHandler),
		ctx: t.Context(), admitted: make(chan struct{}),
	}
}

// listen returns the listener for other nodes of node n1.
func listen(t *testing.T) *peer.Mux {
	t.Helper()
	c, err := certs.Load(certstest.Dir(t, "n1"), "n1")
	require.NoError(t, err)
	mux, err := peer.Listen(peer.Config{
		Node: "n1", Listen: "127.0.0.1:0", Credentials: func() *certs.Credentials { return c }, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mux.Close()) })
	return mux
}

var three = map[string]string{"n1": "a:1", "n2": "b:1", "n3": "c:1"}

// A node with a new data folder waits while a node that it reaches may still report that it knows
// another folder. A node that joins needs at least one answer.
func TestHowLongANewNodeWaitsForAnswers(t *testing.T) {
	first, joining := admissionOf(t, Config{Peers: three}, nil), admissionOf(t, Config{Join: []string{"b:1"}}, nil)
	for name, c := range map[string]struct {
		a                          *admission
		answered, unknown, present int
		waited                     time.Duration
		want                       bool
	}{
		"none is there":                        {first, 0, 0, 0, welcomeMin, true},
		"one has accepted a connection":        {first, 0, 0, 1, welcomeMin, false},
		"one has answered":                     {first, 1, 1, 1, welcomeMin, true},
		"another has accepted a connection":    {first, 1, 1, 2, welcomeMin, false},
		"a node recovers for long":             {first, 0, 0, 1, welcomeMax, false},
		"a node recovers for too long":         {first, 0, 0, 1, welcomeMax + 1, true},
		"a node that joins reaches none":       {joining, 0, 0, 0, welcomeMax + 1, false},
		"a node that joins has one answer":     {joining, 1, 1, 1, welcomeMin, true},
		"a node that joins has only an error":  {joining, 1, 0, 1, welcomeMin, false},
		"a node that joins waits for a second": {joining, 1, 1, 2, welcomeMin, false},
	} {
		assert.Equal(t, c.want, c.a.enough(c.answered, c.unknown, c.present, c.waited), name)
	}
}

func TestWhomANewNodeAsks(t *testing.T) {
	a := admissionOf(t, Config{Peers: three, Join: []string{"d:1"}}, nil)
	targets := a.targets()
	assert.Equal(t, target{address: "d:1"}, targets[0], "without its ID")
	var names []string
	for _, to := range targets {
		names = append(names, to.String())
	}
	slices.Sort(names)
	assert.Equal(t, []string{"d:1", "n2", "n3"}, names, "not itself")
}

func TestANodeSaysWhyItDoesNotTakePart(t *testing.T) {
	a := admissionOf(t, Config{}, nil)
	assert.Equal(t, "waiting for the other nodes to report whether they know this one", a.missing())
	require.NoError(t, a.identity.change(true, false))
	assert.Equal(t, "its data folder is new: the other nodes must remove it before it can join again", a.missing())
	close(a.admitted)
	assert.Empty(t, a.missing())
}

// A node asks for membership only if it is admitted and must join. Its log tells it that it is a
// member, unless it was removed because its previous data folder is lost.
func TestWhenANodeNeedNotJoin(t *testing.T) {
	joining := admissionOf(t, Config{Join: []string{"127.0.0.1:1"}}, listen(t)) // no node is there
	assert.False(t, joining.join(true), "it does not take part yet")
	close(joining.admitted)
	assert.True(t, joining.join(true))
	assert.False(t, joining.join(false), "it tries again")
	require.NoError(t, joining.identity.change(true, true))
	assert.False(t, joining.join(true), "its log may end before the entry that removed it")
	assert.True(t, joining.identity.get().Wiped, "until a node has added it")

	first := admissionOf(t, Config{Peers: three}, nil)
	close(first.admitted)
	assert.False(t, first.join(false), "an operator removed it")
}

func TestFirstMembersOfAGroup(t *testing.T) {
	mux := listen(t)
	self := raft.ServerAddress(mux.Addr())
	assert.Equal(t, []raft.Server{{ID: "n1", Address: self}}, admissionOf(t, Config{}, mux).firstMembers())
	a := admissionOf(t, Config{Peers: three}, mux)
	assert.Equal(t, []raft.Server{{ID: "n1", Address: self}, {ID: "n2", Address: "b:1"}, {ID: "n3", Address: "c:1"}}, a.firstMembers(),
		"sorted, so that all nodes create the same group")
	require.NoError(t, a.identity.change(true, false))
	assert.Nil(t, a.firstMembers(), "a wiped node must not create a group again")
	assert.Nil(t, admissionOf(t, Config{Peers: three, Join: []string{"b:1"}}, mux).firstMembers())
}

// A member removes a node with a new data folder at that node's request, but not itself, and not a
// node that takes part with the folder that it names.
func TestRequestsForRemovalThatAreRefused(t *testing.T) {
	a := admissionOf(t, Config{}, nil)
	m := &membership{groups: a.groups, peers: &peers{identity: a.identity}, admission: a, log: a.log}
	require.ErrorContains(t, m.readmit(t.Context(), "n2", "new"), "this node does not take part in the cluster either")
	close(a.admitted)
	require.NoError(t, a.identity.note("n2", "old", nil))
	require.ErrorContains(t, m.readmit(t.Context(), "n2", "old"), `node "n2" has no new data folder`)
	require.ErrorContains(t, m.readmit(t.Context(), "n1", "new"), `node "n1" has no new data folder`)
	assert.NoError(t, m.readmit(t.Context(), "n2", "new"))
}

// Until a node is admitted, its groups accept and dial no connections. Closing a group ends the
// wait.
func TestGroupsAreSilentUntilAdmission(t *testing.T) {
	a := admissionOf(t, Config{}, listen(t))
	l := newAdmittedLayer(a, 0)
	_, err := l.Dial("127.0.0.1:1", time.Second)
	require.ErrorContains(t, err, "this node does not take part in the cluster yet")
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-accepted, net.ErrClosed)
	require.NoError(t, l.Close(), "a second time")
	close(a.admitted)
	_, err = l.Dial("127.0.0.1:1", time.Second)
	require.ErrorIs(t, err, net.ErrClosed)
	assert.Equal(t, a.mux.Addr(), l.Addr().String())
}
