package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who leads in vain goes on: the transfer fails since there is nobody to take over.
func TestALeadThatNobodyTakesIsKept(t *testing.T) {
	g := newGroup(t, func(o *Options) { o.Bootstrap = o.Bootstrap[:1] })
	g.fill(1, "n1")
	leader := g.members["n1"]
	require.Error(t, leader.Transfer(""))
	g.fill(10, "n1")
}

// An idle leader has a majority agree before it answers from its state: Raft's own question would count answers to what
// was asked before a pause.
func TestAnIdleLeaderHasAMajorityAgree(t *testing.T) {
	g := newGroup(t, nil)
	leader := g.leader()
	g.fill(1, leader.id)
	l := leader.tenure.Load()
	require.NotNil(t, l)
	require.Eventually(t, func() bool { return time.Since(*l.lastAgreed.Load()) > l.replica.o.ElectionTimeout/2 }, patience, step)
	before := leader.raft.LastIndex()
	require.NoError(t, l.Verify().Wait())
	assert.Equal(t, before+1, leader.raft.LastIndex(), "an entry that a majority has")
	for _, id := range g.others(leader) {
		g.net.Drop(leader.id, id)
		g.net.Drop(id, leader.id)
	}
	var err error
	for range len(g.others(leader)) + 1 { // a heartbeat that was answered before the links were held counts still, once of each follower
		if err = l.Verify().Wait(); err != nil {
			break
		}
	}
	require.Error(t, err, "nobody agrees")
	g.net.Heal()
}
