package replica

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each option is passed to Raft. The defaults follow from the election timeout, and Raft accepts
// them.
func TestTheOptionsReachRaft(t *testing.T) {
	type timers struct{ heartbeat, election, lease time.Duration }
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		o        Options
		want     timers
		entries  int
		messages int
	}{
		"nothing":              {Options{}, timers{500 * ms, 500 * ms, 250 * ms}, 128, 4},
		"an election timeout":  {Options{ElectionTimeout: 100 * ms}, timers{100 * ms, 100 * ms, 50 * ms}, 128, 4},
		"a heartbeat timeout":  {Options{HeartbeatTimeout: 100 * ms}, timers{100 * ms, 500 * ms, 100 * ms}, 128, 4},
		"a lease":              {Options{LeaderLease: 500 * ms}, timers{500 * ms, 500 * ms, 500 * ms}, 128, 4},
		"the shortest":         {Options{ElectionTimeout: 100 * ms, HeartbeatTimeout: 50 * ms, LeaderLease: 25 * ms}, timers{50 * ms, 100 * ms, 25 * ms}, 128, 4},
		"messages and entries": {Options{AppendEntriesMax: 1, MessagesInFlight: 64}, timers{500 * ms, 500 * ms, 250 * ms}, 1, 64},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Node = "n1"
			r := &Replica{raftGroup: &raftGroup{o: c.o.withDefaults()}}
			got := r.o.raftConfig(nil)
			assert.Equal(t, c.want, timers{got.HeartbeatTimeout, got.ElectionTimeout, got.LeaderLeaseTimeout})
			assert.Equal(t, c.entries, got.MaxAppendEntries)
			assert.Equal(t, c.messages, r.transportConfig(nil).MaxRPCsInFlight)
			require.NoError(t, raft.ValidateConfig(got))
		})
	}
}

// A group works with the timers and message limits that differ most from the defaults.
func TestAGroupWorksWithOtherTimers(t *testing.T) {
	g := newGroup(t, func(o *Options) {
		o.ElectionTimeout, o.HeartbeatTimeout, o.LeaderLease = time.Second, 200*time.Millisecond, 200*time.Millisecond
		o.AppendEntriesMax, o.MessagesInFlight = 1, 64
	})
	leader := g.leader()
	assert.Equal(t, 200*time.Millisecond, leader.raft.ReloadableConfig().HeartbeatTimeout)
	assert.Equal(t, time.Second, leader.raft.ReloadableConfig().ElectionTimeout)
}
