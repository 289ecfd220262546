package node

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage"
)

// skewMax is the skew bound in these tests.
const skewMax = 500 * time.Millisecond

// wallClock is a host's wall clock, controlled by the test.
type wallClock struct {
	ahead    atomic.Int64 // nanoseconds
	driftPPM atomic.Int64
	began    time.Time
}

func (w *wallClock) set(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

func (w *wallClock) read() clock.Reading {
	passed := int64(time.Since(w.began))
	return clock.Reading{Mono: passed, Wall: w.began.UnixNano() + passed + passed/1_000_000*w.driftPPM.Load() + w.ahead.Load()}
}

// timed is a cluster in this process. Each node has its own wall clock.
type timed struct {
	*testing.T

	net   *netproxy.Mesh
	ids   []string
	walls map[string]*wallClock
	dirs  map[string]string
	nodes map[string]*Node // the running nodes
	conns map[string]*grpc.ClientConn

	configure func(id string, c *Config) // called before each start; may be nil
}

// newTimed starts nodes n1, n2 and so on. ahead are the offsets of their wall clocks.
func newTimed(t *testing.T, ahead ...time.Duration) *timed {
	t.Helper()
	return newConfigured(t, nil, ahead...)
}

// newConfigured implements newTimed with a change of the configuration.
func newConfigured(t *testing.T, configure func(id string, c *Config), ahead ...time.Duration) *timed {
	t.Helper()
	c := &timed{
		configure: configure,
		T:         t, net: netproxy.New(), walls: map[string]*wallClock{}, dirs: map[string]string{}, nodes: map[string]*Node{}, conns: map[string]*grpc.ClientConn{},
	}
	for i, d := range ahead {
		id := fmt.Sprintf("n%d", i+1)
		c.ids, c.dirs[id], c.walls[id] = append(c.ids, id), t.TempDir(), &wallClock{began: time.Now()}
		c.walls[id].set(d)
	}
	t.Cleanup(func() { // before the folders are removed
		c.net.Heal()
		for _, id := range c.ids {
			c.stop(id)
		}
		assert.NoError(t, c.net.Close())
	})
	for _, id := range c.ids {
		c.start(id)
	}
	return c
}

// longestPause is longer than a busy host pauses a process. A cluster with these timeouts holds no
// election while all its nodes run.
const longestPause = 6 * time.Second

// calm prevents elections while all nodes run.
func calm(_ string, c *Config) {
	c.Cluster.ElectionTimeout, c.Cluster.HeartbeatTimeout, c.Cluster.LeaderLease = longestPause, longestPause, longestPause
}

func (c *timed) start(id string) {
	c.Helper()
	peers := map[string]string{}
	for _, other := range c.ids {
		from := id
		if other == id {
			from = "any"
		}
		address, err := c.net.Address(from, other)
		require.NoError(c, err)
		peers[other] = address
	}
	config := Config{
		DataDir: c.dirs[id], Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, Insecure: true, clock: clock.From(c.walls[id].read),
		DiskLow: storage.SpaceMark{Set: true},
		Cluster: cluster.Config{Node: id, Listen: "127.0.0.1:0", CertsDir: certstest.Dir(c.T, id), Peers: peers, ClockSkewMax: skewMax},
	}
	if c.configure != nil {
		c.configure(id, &config)
	}
	n, err := Open(config)
	require.NoError(c, err)
	c.nodes[id] = n
	c.net.Listens(id, n.ClusterAddr())
	c.conns[id], err = grpc.NewClient("passthrough:///"+n.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(c, err)
}

func (c *timed) stop(id string) {
	c.Helper()
	n := c.nodes[id]
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	require.NoError(c, c.conns[id].Close())
	require.NoError(c, n.Shutdown(ctx))
	c.net.Listens(id, "")
	delete(c.nodes, id)
}

func (c *timed) eventually(ok func() bool, what string, args ...any) {
	c.Helper()
	require.Eventually(c, ok, adminPatience, 5*time.Millisecond, append([]any{what}, args...)...)
}

// leads reports whether a node grants leases.
func (c *timed) leads(id string) bool { return c.nodes[id] != nil && len(c.nodes[id].shards.Led()) > 0 }

// leader waits until one of the named nodes leads, or any node if none is named.
func (c *timed) leader(of ...string) (leads string) {
	c.Helper()
	if len(of) == 0 {
		of = c.ids
	}
	c.eventually(func() bool {
		for _, id := range of {
			if c.leads(id) {
				leads = id
				return true
			}
		}
		return false
	}, "no node of %v leads", of)
	return leads
}

// refuses waits until a node reports that its clock does not allow it to lead, and why.
func (c *timed) refuses(id, why string) {
	c.Helper()
	c.eventually(func() bool {
		return !c.nodes[id].cluster.MayLead() && regexp.MustCompile(why).MatchString(c.nodes[id].notReadyWhy())
	}, "%s does not report: %s", id, why)
}

func (c *timed) health(id string) healthpb.HealthCheckResponse_ServingStatus {
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	out, err := healthpb.NewHealthClient(c.conns[id]).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return healthpb.HealthCheckResponse_UNKNOWN
	}
	return out.GetStatus()
}

// others returns all other nodes.
func (c *timed) others(than ...string) (ids []string) {
	for _, id := range c.ids {
		if !slices.Contains(than, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// transfer transfers leadership to a node that may lead.
func (c *timed) transfer(to string) {
	c.Helper()
	c.eventually(func() bool {
		if c.leads(to) {
			return true
		}
		for _, id := range c.others(to) {
			if c.leads(id) {
				if err := c.nodes[id].cluster.Replicas()[0].Transfer(to); err != nil {
					c.Log("transfer: ", err)
				}
			}
		}
		return c.leads(to)
	}, "%s does not become the leader", to)
}

// grants records the leases of one task according to the test's monotonic clock.
type grants struct {
	c     *timed
	lease time.Duration
	last  time.Time // lower bound of the time when the latest lease was granted
	count int
}

// newGrants enqueues the task.
func newGrants(c *timed, lease time.Duration) *grants {
	c.Helper()
	c.eventually(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		out, err := queuepb.NewQueueServiceClient(c.conns[c.leader()]).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", MaxAttempts: 1000}}})
		return err == nil && out.GetResults()[0].GetError() == nil
	}, "the task is not stored")
	return &grants{c: c, lease: lease}
}

// try claims the task at a node without waiting, and returns whether it was leased. It fails the
// test if a lease begins before the previous one has ended. A clock runs at most 2 % faster than
// real time.
func (g *grants) try(id string) bool {
	g.c.Helper()
	if g.c.nodes[id] == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	asked := time.Now()
	out, err := queuepb.NewQueueServiceClient(g.c.conns[id]).Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1, LeaseMs: uint64(g.lease.Milliseconds())})
	got := time.Now()
	if err != nil || len(out.GetTasks()) == 0 {
		return false
	}
	if g.count++; g.count > 1 {
		least := g.lease - g.lease/51 - 2*time.Millisecond // less the rounding to milliseconds
		assert.GreaterOrEqual(g.c, got.Sub(g.last), least, "the lease was granted again by %s before it ended", id)
	}
	g.last = asked
	return true
}

// next waits until a node leases the task.
func (g *grants) next(id string) {
	g.c.Helper()
	g.c.eventually(func() bool { return g.try(id) }, "%s does not lease the task", id)
}

func TestANodeWithAWrongClockDoesNotLead(t *testing.T) {
	t.Parallel()
	c := newTimed(t, 0, 0, 10*time.Second)
	leader := c.leader()
	require.NotEqual(t, "n3", leader)
	g := newGrants(c, 3*time.Second)
	g.next(leader)
	c.refuses("n3", `its clock is (9\.\d+|10(\.\d+)?)s ahead of the median of 3 voters, and may differ by 500ms`)
	c.eventually(func() bool { return c.health("n3") == healthpb.HealthCheckResponse_NOT_SERVING }, "the health service does not report it")
	leader = c.leader() // on a busy host, the other node may have become the leader
	c.eventually(func() bool { return c.health(leader) == healthpb.HealthCheckResponse_SERVING }, "the leader does not report SERVING")

	// The node does not stand for election, even if requested, and the others do not hand
	// leadership over to it.
	c.eventually(func() bool { // the node may not have queried n3 yet
		err := c.nodes[leader].cluster.Change(t.Context(), route.ClusterChange{Kind: route.TransferLeadership, Node: "n3", Shard: route.AllShards})
		return err != nil && strings.Contains(err.Error(), `the clock of "n3" differs by more than 500ms`)
	}, "%s does not refuse to hand over to n3", leader)
	_ = c.nodes[leader].cluster.Replicas()[0].Transfer("n3")
	c.eventually(func() bool { // an election may prevent it
		for _, id := range []string{"n1", "n2"} {
			if c.leads(id) {
				return c.nodes[id].cluster.Replicas()[0].Transfer("") == nil
			}
		}
		return false
	}, "no leader hands over")
	leader = c.leader("n1", "n2")
	assert.False(t, c.leads("n3"))

	// Each node reports the skews of the clocks.
	c.eventually(func() bool {
		s, err := c.nodes[leader].cluster.Status(t.Context())
		require.NoError(t, err)
		wrong, own := s.Members[2], s.Members[0]
		if leader == "n2" {
			own = s.Members[1]
		}
		return wrong.ClockProblem != "" && wrong.Clock != nil && (wrong.Clock.Ahead-10*time.Second).Abs() < 200*time.Millisecond+wrong.Clock.Error &&
			own.ClockProblem == "" && own.Clock != nil && *own.Clock == route.ClockSkew{}
	}, "the status does not report the skews")
	metrics := scrape(t, c.nodes[leader])
	assert.Contains(t, metrics, `prony_clock_skew_seconds{node="n3"}`)
	assert.Equal(t, "1", metrics["prony_clock_may_lead"])
	assert.Equal(t, "0", scrape(t, c.nodes["n3"])["prony_clock_may_lead"])
	g.next(leader)

	// The two remaining voters cannot decide whose clock is right. Neither leads, and both report
	// that.
	left := c.others(leader, "n3")[0]
	c.stop(leader)
	c.refuses("n3", "ahead of that of "+left+", the only other voter that answers")
	c.refuses(left, "behind that of n3, the only other voter that answers")
	c.eventually(func() bool { return c.nodes[left].cluster.Leader(0) == "" && c.nodes["n3"].cluster.Leader(0) == "" }, "a node still leads")
	assert.False(t, c.leads(left))

	// After a restart, the node uses the host's clock immediately.
	c.walls["n3"].set(0)
	c.stop("n3")
	c.start("n3")
	g.next(c.leader("n3", left))
	// It may not have queried n3 again yet.
	c.eventually(func() bool { return c.nodes[left].cluster.MayLead() }, "%s still refuses", left)
}

func TestALeaderWhoseClockGoesWrongHandsOver(t *testing.T) {
	t.Parallel()
	c := newTimed(t, -400*time.Millisecond, 0, 0)
	c.transfer("n1")
	g := newGrants(c, 2*time.Second)
	g.next("n1")
	c.walls["n1"].set(-time.Minute) // 100 ms further in 5 s
	leader := c.leader("n2", "n3")
	c.refuses("n1", "behind the median of 3 voters")
	assert.False(t, c.leads("n1"))
	g.next(leader)
}

// Leases do not overlap even if each hand-over goes from the slowest permitted clock to the
// fastest, or back.
func TestLeasesDoNotOverlapWithClocksWithinTheBound(t *testing.T) {
	t.Parallel()
	c := newTimed(t, -450*time.Millisecond, 0, 450*time.Millisecond)
	c.walls["n2"].driftPPM.Store(-1_000)
	c.walls["n3"].driftPPM.Store(500)
	c.transfer("n1")
	g := newGrants(c, 1500*time.Millisecond)
	for _, id := range []string{"n1", "n3", "n1", "n3", "n2"} {
		c.transfer(id)
		g.next(id)
	}
}

// A restarted node uses its host's clock immediately, even if that clock is wrong. While a lease is
// active, the test requests that this node lead.
func TestANodeThatRestartsWithAWrongClockEndsNoLease(t *testing.T) {
	longtest.Only(t)
	c := newTimed(t, 0, 0, 0)
	c.transfer("n1")
	g := newGrants(c, 4*time.Second)
	g.next("n1")
	c.walls["n3"].set(10 * time.Second)
	c.stop("n3")
	c.start("n3")
	_ = c.nodes["n1"].cluster.Replicas()[0].Transfer("n3")
	for g.count < 2 {
		for _, id := range c.ids {
			g.try(id)
		}
		require.Less(t, time.Since(g.last), adminPatience)
	}
	assert.False(t, c.leads("n3"))
}

// One of five voters has a wrong clock and stops leading. Then a second one, with an offset in the
// same direction, does too. The three others continue.
func TestTheClocksOfThreeOfFiveDecide(t *testing.T) {
	longtest.Only(t)
	c := newTimed(t, 0, 0, 0, 0, 10*time.Second)
	g := newGrants(c, 2*time.Second)
	g.next(c.leader("n1", "n2", "n3", "n4"))
	c.refuses("n5", `ahead of the median of [45] voters`)
	c.stop("n4")
	c.walls["n4"].set(11 * time.Second)
	c.start("n4")
	c.refuses("n4", `ahead of the median of 5 voters`)
	c.refuses("n5", `ahead of the median of 5 voters`)
	for _, id := range []string{"n1", "n2", "n3"} {
		c.transfer(id)
		g.next(id)
		assert.True(t, c.nodes[id].cluster.MayLead())
		_ = c.nodes[id].cluster.Replicas()[0].Transfer("n4")
		c.leader("n1", "n2", "n3")
		assert.False(t, c.leads("n4") || c.leads("n5"))
	}
}

func TestTwoVotersWhoseClocksDifferBothRefuse(t *testing.T) {
	t.Parallel()
	c := newTimed(t, 0, 10*time.Second)
	c.refuses("n1", "behind that of n2, the only other voter that answers")
	c.refuses("n2", "ahead of that of n1, the only other voter that answers")
	terms := c.nodes["n1"].cluster.Replicas()[0].Term() + c.nodes["n2"].cluster.Replicas()[0].Term()
	for range 3 { // elections that must not take place
		<-time.After(cluster.DefaultElectionTimeout)
		assert.False(t, c.leads("n1") || c.leads("n2"))
	}
	assert.LessOrEqual(t, c.nodes["n1"].cluster.Replicas()[0].Term()+c.nodes["n2"].cluster.Replicas()[0].Term(), terms+2, "the nodes do not hold repeated elections")
	c.walls["n2"].set(0)
	c.stop("n2")
	c.start("n2")
	c.leader()
}

// The only voter leads whatever its clock shows.
func TestANodeAloneLeadsByAnyClock(t *testing.T) {
	t.Parallel()
	c := newTimed(t, time.Hour)
	c.leader()
	assert.True(t, c.nodes["n1"].cluster.MayLead())
}
