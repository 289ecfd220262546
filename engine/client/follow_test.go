package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestAProducerFollowsTheLeader(t *testing.T) {
	// All addresses, or that of a node that does not lead.
	for _, dialed := range [][]int{nil, {2}} {
		ctx := bounded(t)
		c := running(t, 3, 1)
		p, err := c.client(t, dialed).Producer(ctx, "")
		require.NoError(t, err)
		var want []string
		for i := range 12 {
			if i%3 == 1 {
				c.lead(i/3%3, 0)
			}
			if i == 10 { // the leader dies
				c.nodes[0].kill()
				c.lead(1, 0)
			}
			name := fmt.Sprintf("%02d", i)
			id, err := p.Enqueue(ctx, Task{Queue: "q", Payload: []byte(name)})
			// The call went to the dead node before the client noticed the end of the connection.
			if i == 10 && errors.Is(err, ErrUnknownOutcome) {
				id, err = p.Enqueue(ctx, Task{Queue: "q", Payload: []byte(name)})
			}
			require.NoError(t, err)
			assert.NotEmpty(t, id)
			want = append(want, name)
		}
		require.NoError(t, p.Close(ctx))
		assert.Equal(t, want, c.payloads())
		_, err = p.Enqueue(ctx, Task{Queue: "q"})
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestAWorkerFollowsTheLeader(t *testing.T) {
	for _, dialed := range [][]int{nil, {2}} {
		const n = 30
		ctx := bounded(t)
		c := running(t, 3, 1)
		client := c.client(t, dialed)
		p, err := client.Producer(ctx, "")
		require.NoError(t, err)
		w, err := client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 3})
		require.NoError(t, err)
		for range n {
			_, err := p.Enqueue(ctx, Task{Queue: "q"})
			require.NoError(t, err)
		}
		for i := range n {
			task, err := w.Receive(ctx)
			require.NoError(t, err)
			if i%3 == 1 {
				c.lead(i/3%3, 0) // the task is settled at the next leader
			}
			require.NoError(t, w.Complete(ctx, task))
		}
		require.NoError(t, w.Close(ctx))
		require.NoError(t, p.Close(ctx))
		for _, s := range c.stored {
			assert.Equal(t, 1, s.completed)
			assert.Equal(t, 1, s.times, "the lease continued")
		}
	}
}

// TestBatchesGoToAllThatLead checks that batches go to the leaders in turn, and that tasks of
// shards led elsewhere are sent there.
func TestBatchesGoToAllThatLead(t *testing.T) {
	const n = 60
	ctx := bounded(t)
	c := running(t, 3, 3)
	c.lead(1, 1)
	c.lead(2, 2)
	client := c.client(t, []int{0})
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	require.Eventually(t, func() bool { links, _ := p.links.current(); return len(links) == 3 }, patience, time.Millisecond)
	for i := range n {
		_, err := p.Enqueue(ctx, Task{Queue: "q", Payload: fmt.Append(nil, i)})
		require.NoError(t, err)
		_, errs, err := p.EnqueueBatch(ctx, []Task{{Queue: "q", Key: fmt.Sprint("a", i)}, {Queue: "no spaces"}, {Queue: "q", Key: fmt.Sprint("b", i)}})
		require.NoError(t, err)
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], ErrInvalidArgument)
		require.NoError(t, errs[2])
	}
	require.NoError(t, p.Close(ctx))
	perShard := make([]int, 3)
	for _, s := range c.stored {
		if s.key == "" {
			perShard[s.shard]++
		}
	}
	assert.Len(t, c.stored, 3*n)
	for shard, count := range perShard {
		assert.Positive(t, count, "shard %d", shard)
	}
}

// TestWhatNoLinkLeadsToGoesPlainly checks that a task whose shard's leader has no link is sent by a
// unary call, which any node forwards.
func TestWhatNoLinkLeadsToGoesPlainly(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 2)
	client := c.client(t, []int{0}, hasty)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	c.change(func() { // the other node leads, but its address is unknown
		c.leaders[1] = 1
		for _, n := range c.nodes {
			n.lies = []int{0, -1}
		}
	})
	for i := range 10 {
		_, err := p.Enqueue(ctx, Task{Queue: "q", Key: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	require.NoError(t, p.Close(ctx))
	assert.Len(t, c.stored, 10)
}

func TestACallWithoutALeaderEndsInTime(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	client := c.client(t, nil, hasty, WithRetryMax(50*time.Millisecond))
	var (
		p   *Producer
		w   *Worker
		err error
	)
	// A busy host may need more tries than the 50 ms allow.
	require.Eventually(t, func() bool { p, err = client.Producer(ctx, ""); return err == nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool {
		w, err = client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
		return err == nil
	}, patience, time.Millisecond)
	c.lead(-1, 0)
	_, err = p.Enqueue(ctx, Task{Queue: "q"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.NotErrorIs(t, err, ErrUnknownOutcome, "no node stored the task")
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, ErrUnavailable)
	c.lead(0, 0)
	c.change(func() {
		c.fault = func(int, bool) fault {
			c.leaders[0], c.fault = -1, nil
			return lostAnswer
		}
	})
	require.Eventually(t, func() bool {
		_, err = p.Enqueue(ctx, Task{Queue: "q", Key: "k"})
		require.Error(t, err)
		return errors.Is(err, ErrUnknownOutcome)
	}, patience, time.Millisecond, "one try may have taken effect")
	for _, n := range c.nodes {
		n.kill()
	}
	require.Eventually(t, func() bool {
		_, _, err = p.EnqueueBatch(ctx, make([]Task, 3))
		require.ErrorIs(t, err, ErrUnavailable)
		return strings.Contains(err.Error(), "127.0.0.1:")
	}, patience, time.Millisecond, "the error names the nodes asked")
	_, err = client.Producer(ctx, "")
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.ErrorIs(t, err, ErrUnavailable)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = p.Enqueue(gone, Task{Queue: "q"})
	require.ErrorIs(t, err, context.Canceled)

	c.nodes[1].start() // the nodes run again
	c.lead(1, 0)
	require.Eventually(t, func() bool { _, err := p.Enqueue(ctx, Task{Queue: "q"}); return err == nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool { _, err := w.Receive(ctx); return err == nil }, patience, time.Millisecond)
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}

// TestALeaderThatHangsIsLeft checks that calls waiting for a hanging leader are repeated once the
// other nodes name another leader.
func TestALeaderThatHangsIsLeft(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 3, 1)
	c.add(3)
	client := c.client(t, nil, hasty)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	w, err := client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 2})
	require.NoError(t, err)
	task, err := w.Receive(ctx)
	require.NoError(t, err)
	c.change(func() { c.nodes[0].hangs = true })
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := p.Enqueue(ctx, Task{Queue: "q", Key: "k"})
		assert.NoError(t, err)
	})
	calls.Go(func() {
		_, err := p.Enqueue(ctx, Task{Queue: "q"})
		if err != nil { // the call went to the hanging node
			assert.ErrorIs(t, err, ErrUnknownOutcome)
		}
	})
	calls.Go(func() { assert.NoError(t, w.Complete(ctx, task)) })
	c.change(func() { c.leaders[0] = 2; c.nodes[0].lies = []int{0} })
	calls.Wait()
	for range 2 {
		task, err := w.Receive(ctx)
		require.NoError(t, err)
		require.NoError(t, w.Complete(ctx, task))
	}
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}

// TestANodeThatLostTouchIsNotBelieved has a node claim to lead while the other nodes name another
// leader.
func TestANodeThatLostTouchIsNotBelieved(t *testing.T) {
	says := func(routes ...*queuepb.Route) *queuepb.GetRoutesResponse {
		return &queuepb.GetRoutesResponse{Routes: routes}
	}
	routes := func(l int, here bool) *queuepb.GetRoutesResponse {
		return says(&queuepb.Route{Node: fmt.Sprint("n", l), Address: fmt.Sprint("a", l), Here: here})
	}
	p := func(i int) *peer { return &peer{address: fmt.Sprint("p", i)} }
	stale, follower, leads := answer{p(0), routes(0, true)}, answer{p(1), routes(2, false)}, answer{p(2), routes(2, true)}
	for _, answers := range [][]answer{{stale, follower, leads}, {leads, stale, follower}, {follower, leads}, {stale, leads, follower}} {
		got := count(answers, nil)
		assert.Equal(t, []leader{{node: "n2", address: "p2", named: "a2"}}, got.leaders, "the leader has the address that answered")
		assert.True(t, got.complete())
		assert.False(t, got.alone)
	}
	assert.Equal(t, []leader{{node: "n0", address: "p0", named: "a0"}}, count([]answer{stale}, nil).leaders)
	assert.Equal(t, []leader{{node: "n2", address: "a2", named: "a2"}}, count([]answer{follower}, nil).leaders)
	again := count([]answer{stale, leads}, &table{leaders: []leader{{node: "n2"}}})
	assert.Equal(t, "n2", again.leaders[0].node, "of two claims, the earlier leader's is kept")
	nobody := count([]answer{{p(0), says(&queuepb.Route{}, &queuepb.Route{Node: "n1"})}}, nil)
	assert.Equal(t, []leader{{}, {}}, nobody.leaders)
	assert.False(t, nobody.complete())
	assert.Empty(t, nobody.nodes())
	alone := count([]answer{{p(0), says(&queuepb.Route{Here: true}, &queuepb.Route{Shard: 1, Here: true})}}, nil)
	assert.True(t, alone.alone)
	assert.Equal(t, []leader{{address: "p0"}}, alone.nodes())
}

// An elected node that does not serve the shard yet is named by the others before it names itself.
func TestANodeThatDoesNotServeItsShardYetIsNotUsed(t *testing.T) {
	says := func(node, leader string, here bool) answer {
		r := &queuepb.Route{Node: leader, Here: here}
		if leader != "" {
			r.Address = "at-" + leader
		}
		return answer{&peer{address: "at-" + node}, &queuepb.GetRoutesResponse{Node: node, Routes: []*queuepb.Route{r}}}
	}
	before := []answer{says("n0", "", false), says("n1", "n0", false), says("n2", "n0", false)}
	assert.False(t, count(before, nil).complete())
	begun := append([]answer{says("n0", "n0", true)}, before[1:]...)
	assert.Equal(t, []leader{{node: "n0", address: "at-n0", named: "at-n0"}}, count(begun, nil).leaders)
	assert.Equal(t, "n0", count(before[1:], nil).leaders[0].node, "the node did not answer itself")
}

// The nodes announce the new leader. The client waits neither for a pause after an error nor for
// its next request.
func TestTheNodesSayAtOnceWhoLeads(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 3, 1)
	patient := hasty
	patient.waitMin, patient.waitMax, patient.keeperWaitMax, patient.askEvery, patient.peersEvery = time.Hour, time.Hour, time.Hour, time.Hour, time.Millisecond
	client := c.client(t, nil, patient)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return c.watchers.Load() == 3 }, patience, time.Millisecond, "each node is watched")
	c.nodes[0].kill()
	// The others still name the node: the session has tried, and pauses. Its error depends on when
	// its connection ended.
	require.Eventually(t, func() bool {
		return regexp.MustCompile(`connection refused|reset by peer|broken pipe|EOF`).MatchString(p.links.problem().Error())
	}, patience, time.Millisecond)
	c.lead(1, 0)
	_, err = p.Enqueue(ctx, Task{Queue: "q"})
	require.NoError(t, err)
	require.NoError(t, p.Close(ctx))
}

func TestARefusalEndsTheSession(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 1)
	client := c.client(t, nil)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	w, err := client.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	c.change(func() { c.denied = true })
	_, err = p.Enqueue(ctx, Task{Queue: "q"})
	require.Error(t, err)
	require.ErrorContains(t, err, "not for you")
	_, err = w.Receive(ctx)
	require.ErrorContains(t, err, "not for you")
	_, err = p.Enqueue(ctx, Task{Queue: "q", Key: "k"})
	require.ErrorContains(t, err, "not for you")
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}

func TestTheEndOfASessionsContextEndsItsLinks(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 2)
	c.lead(1, 1)
	client := c.client(t, nil)
	life, cancel := context.WithCancel(ctx)
	p, err := client.Producer(life, "")
	require.NoError(t, err)
	w, err := client.Worker(life, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	cancel()
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { _, err = p.Enqueue(ctx, Task{Queue: "q"}); return err != nil }, patience, time.Millisecond)
	require.Eventually(t, func() bool { _, err = p.Enqueue(ctx, Task{Queue: "q"}); return errors.Is(err, ErrUnavailable) }, patience, time.Millisecond)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnknownOutcome, "the call was never sent")
	require.NoError(t, p.Close(ctx))
	require.NoError(t, w.Close(ctx))
}

// TestCloseDoesNotWaitForANodeThatHangs checks that Close with a hanging node ends with its
// context.
func TestCloseDoesNotWaitForANodeThatHangs(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 1, 1)
	client := c.client(t, nil)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	c.change(func() { c.nodes[0].hangs = true })
	failed := make(chan error, 1)
	go func() {
		_, err := p.Enqueue(ctx, Task{Queue: "q"})
		failed <- err
	}()
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, p.Close(over), context.Canceled)
	err = <-failed
	require.True(t, errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrClosed), "%v", err)
}

// TestWhatIsGoneIsForgotten checks that connections to addresses that the cluster no longer names
// are closed.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 3, 1)
	client := c.client(t, []int{0}, hasty)
	p, err := client.Producer(ctx, "")
	require.NoError(t, err)
	at := func() (all []string) {
		for _, p := range client.known() {
			all = append(all, p.address)
		}
		return all
	}
	for _, node := range []int{1, 2, 1, 0} {
		c.lead(node, 0)
		want := []string{c.nodes[0].address}
		if node > 0 {
			want = append(want, c.nodes[node].address)
		}
		require.Eventually(t, func() bool { return slices.Equal(want, at()) }, patience, time.Millisecond)
		_, err = p.Enqueue(ctx, Task{Queue: "q"})
		require.NoError(t, err)
	}
	require.NoError(t, p.Close(ctx))
}

// A few consecutive answers are each followed by the next request immediately, many by one request
// per watchEvery.
func TestAnswersInARowAreFollowedAtOnce(t *testing.T) {
	var p watchPace
	now := time.Unix(1_000, 0)
	for range 3 { // the allowance is restored after a calm time
		for i := range 10 {
			want := max(0, time.Duration(i+2-watchAtOnce)*watchEvery)
			require.Equal(t, want, max(0, p.rest(now)), "answer %d", i)
		}
		now = now.Add(time.Second)
	}
	p = watchPace{}
	for range 50 { // a pause after each answer, as long as rest requires
		now = now.Add(max(0, p.rest(now)))
	}
	require.Equal(t, time.Unix(1_003, 0).Add((50+1-watchAtOnce)*watchEvery), now)
}

// If a session's context ends before the session opens, the error has the cause that kept it from
// opening.
func TestASessionThatNeverOpensSaysWhy(t *testing.T) {
	c := running(t, 3, 1)
	client := c.client(t, nil)
	for _, n := range c.nodes {
		n.kill()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFollower[*produceLink](ctx, client)
	started := make(chan error, 1)
	go func() { started <- f.start() }()
	<-f.tried // no node has answered, so no link is opened
	cancel()
	err := <-started
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, f.problem(), context.Canceled)
	require.ErrorContains(t, err, f.problem().Error())
	f.noteError(f.ctx.Err()) // of a try that the end of the context has cut short
	require.NotErrorIs(t, f.problem(), context.Canceled)
}
