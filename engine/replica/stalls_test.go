package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/netproxy"
)

// A commit that waits for other nodes is recorded with that waiting time.
func TestASlowReplicationIsTheCauseOfASlowCommit(t *testing.T) {
	g := newGroup(t, slowElections)
	leader := g.elect()
	g.fill(1, leader.id)
	const delay = 10 * time.Millisecond
	for _, id := range g.others(leader) {
		g.net.Set(leader.id, id, netproxy.Conditions{Delay: delay})
	}
	require.NoError(t, leader.enqueue([]byte("x")))
	r := leader.stalls.Record()
	require.NotEmpty(t, r.Commits)
	c := r.Commits[len(r.Commits)-1]
	assert.GreaterOrEqual(t, c.Ended-c.Began, delay)
	assert.GreaterOrEqual(t, c.ByCause[stalls.Replicate], delay)
	assert.Positive(t, c.Commands)
	assert.LessOrEqual(t, c.Parts.Replicate+c.Parts.RaftRoom+c.Parts.Behind, c.Ended-c.Began)
}
