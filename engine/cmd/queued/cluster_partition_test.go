package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/longtest"
)

// TestAPartitionedLeaderAcknowledgesNothingThatIsLost cuts the leader off, with clients on both
// sides. The short form cuts both directions only.
func TestAPartitionedLeaderAcknowledgesNothingThatIsLost(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(c *cluster, leader string){
		"both ways": func(c *cluster, leader string) { c.net.Isolate(leader, c.up()...) },
		"outgoing packets": func(c *cluster, leader string) {
			for _, other := range c.others(leader) {
				c.net.Drop(leader, other)
			}
		},
		"incoming packets": func(c *cluster, leader string) {
			for _, other := range c.others(leader) {
				c.net.Drop(other, leader)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "both ways" {
				longtest.Only(t)
			}
			c := newCluster(t, "--durability", "none")
			l := c.load()
			l.goOn(50)
			leader := c.leader()
			stop := make(chan struct{})
			var sides sync.WaitGroup
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			for i, id := range clusterNodes { // they stay on their node's side
				caller := c.caller(l.Recorder, 100+i, id, "a")
				caller.Timeout = time.Second
				sides.Go(func() { caller.Mix(ctx, stop, 10_000, 5*time.Millisecond) })
			}
			defer sides.Wait()
			cut(c, leader)
			began := l.Recorder.Now()
			next := c.leader(c.others(leader)...)
			require.NotEqual(t, leader, next)
			led := l.Recorder.Now()
			l.goOn(100)
			<-time.After(time.Second) // allows some calls at the old leader
			ended := l.Recorder.Now()
			c.net.Heal()
			l.goOn(100)
			close(stop)
			sides.Wait()
			// A heartbeat answer of another node may have passed the proxy when the links were cut.
			// Once from each node, it can still reach the old leader, which then may answer that
			// there is no task. That is correct as long as no other node leads.
			calls, told, toldMax := 0, 0, len(c.others(leader))
			for _, o := range l.end() {
				if o.Client == 100+slices.Index(clusterNodes, leader) && o.Call > began && o.Return < ended {
					calls++
					if o.Kind == historytest.Claim && o.Payload == "" && o.Outcome == historytest.OK && o.Return < led && told < toldMax {
						told++
						continue
					}
					assert.NotEqual(t, historytest.OK, o.Outcome, "the old leader answered without a majority: %s", o)
				}
			}
			assert.Positive(t, calls)
		})
	}
}

// TestAFollowerThatIsCutOffDisturbsNobody cuts a follower off and reconnects it: the leader must
// stay. Only the follower has a short election timeout, so that no other node causes an election.
func TestAFollowerThatIsCutOffDisturbsNobody(t *testing.T) {
	t.Parallel()
	c := prepareCluster(t, append([]string{"--durability", "none"}, undisturbed...)...)
	const leader, follower = "n1", "n3"
	c.nodes[follower].args = []string{"--cluster-election-timeout", "500ms", "--cluster-heartbeat-timeout", "500ms", "--cluster-leader-lease", "250ms"}
	c.start(clusterNodes...)
	c.transfer(leader)
	l := c.load()
	l.goOn(50)
	for _, cut := range []func(){
		func() { c.net.Isolate(follower, c.up()...) },
		func() { c.net.Drop(follower, leader) },
		func() { c.net.Drop(leader, follower) },
	} {
		cut()
		l.goOn(100)
		<-time.After(time.Second) // covers at least one of its elections
		c.net.Heal()
		c.caughtUp(follower)
	}
	l.end()
	assert.Equal(t, leader, c.leader(), "the leader changed")
}

// TestShortHistoriesAreLinearizable runs random calls by clients of single nodes while the leader
// is cut off, stopped or killed, and checks that the history of each queue is linearizable. The
// short form cuts the leader off.
func TestShortHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	const queues, callsMax = 3, 40
	faults := []struct {
		name string
		of   func(c *cluster, leader string) (end func())
	}{
		{"cut off", func(c *cluster, leader string) func() {
			c.net.Isolate(leader, c.up()...)
			return c.net.Heal
		}},
		{"stopped", func(c *cluster, leader string) func() {
			c.signal(leader, syscall.SIGSTOP)
			return func() { c.signal(leader, syscall.SIGCONT) }
		}},
		{"killed", func(c *cluster, leader string) func() {
			c.kill(leader)
			return func() { c.start(leader) }
		}},
	}
	c := newCluster(t, "--durability", "none")
	decided := 0
	for i, fault := range faults[:longtest.Count(t, 1, len(faults))] {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		r := historytest.NewRecorder()
		stop := map[string]chan struct{}{}
		for _, id := range clusterNodes {
			stop[id] = make(chan struct{})
		}
		var calling sync.WaitGroup
		leader := c.leader()
		for q := range queues {
			for k, id := range clusterNodes {
				caller := c.caller(r, 10*(q+1)+k, id, fmt.Sprintf("%d.%d", i, q))
				caller.Timeout, caller.Lease = time.Second, 500*time.Millisecond
				calling.Go(func() { caller.Mix(ctx, stop[id], callsMax, 20*time.Millisecond) })
			}
		}
		aMoment()
		end := fault.of(c, leader)
		if c.nodes[leader].process == nil {
			// Stops its clients too: all their calls would have unknown outcomes.
			close(stop[leader])
		}
		c.leader(c.others(leader)...)
		end()
		calling.Wait()
		cancel()
		byQueue := map[string][]historytest.Op{}
		ops := r.Ops()
		for _, o := range ops {
			byQueue[o.Queue] = append(byQueue[o.Queue], o)
		}
		require.Len(t, byQueue, queues)
		c.drain(r, slices.Sorted(maps.Keys(byQueue))...)
		for queue, ops := range byQueue {
			verdict := historytest.CheckQueue(ops, slackMs, 10*time.Second)
			t.Logf("the leader is %s, queue %s: %s: %s", fault.name, queue, verdict, counts(ops))
			if verdict != historytest.Undecided {
				decided++
			}
			if verdict == historytest.NotLinearizable {
				for _, o := range ops {
					t.Log(o)
				}
				t.Errorf("queue %s is not linearizable when the leader is %s", queue, fault.name)
			}
		}
	}
	assert.Positive(t, decided)
}
