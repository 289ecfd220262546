package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

// upsets injects faults drawn by rapid: one for each of the next frames, moves of shards, and kills
// of nodes.
type upsets struct {
	r      *rapid.T
	c      *cluster
	faults []fault // under c.mu
	dead   []bool
}

func newUpsets(t *testing.T, r *rapid.T, nodes, shards int) *upsets {
	u := &upsets{r: r, c: newCluster(t, nodes, shards), dead: make([]bool, nodes)}
	u.faults = rapid.SliceOfN(rapid.Custom(func(r *rapid.T) fault {
		return fault(rapid.IntRange(0, int(faults)-1).Draw(r, "fault"))
	}), 0, 60).Draw(r, "faults of frames")
	u.c.fault = func(int, bool) fault {
		if len(u.faults) == 0 {
			return noFault
		}
		f := u.faults[0]
		u.faults = u.faults[1:]
		return f
	}
	return u
}

// one makes one change to the cluster. When it returns, each shard has a running leader, or the
// next change assigns one.
func (u *upsets) one() {
	node := rapid.IntRange(0, len(u.c.nodes)-1).Draw(u.r, "node")
	var alive []int
	for i, dead := range u.dead {
		if !dead {
			alive = append(alive, i)
		}
	}
	switch rapid.IntRange(0, 3).Draw(u.r, "upset") {
	case 0, 1: // the lead moves
		if u.dead[node] {
			return
		}
		shard := rapid.IntRange(0, len(u.c.leaders)-1).Draw(u.r, "shard")
		u.c.lead(node, shard)
	case 2: // a node dies, and others take the lead
		if u.dead[node] || len(alive) == 1 {
			return
		}
		u.dead[node] = true
		alive = slices.DeleteFunc(alive, func(n int) bool { return n == node })
		heir := rapid.SampledFrom(alive).Draw(u.r, "heir")
		u.c.change(func() {
			for s, l := range u.c.leaders {
				if l == node {
					u.c.leaders[s] = heir
				}
			}
		})
		u.c.nodes[node].kill()
	case 3:
		if u.dead[node] {
			u.dead[node] = false
			u.c.nodes[node].start()
		}
	}
}

type made struct {
	name, key string
	id        string
	err       error
}

// TestEachEnqueueHasOneOutcomeThroughFailovers enqueues with and without keys, one by one and in
// batches, during faults of the cluster: a task with a key is stored once, and one without at most
// once; acknowledged tasks are stored.
func TestEachEnqueueHasOneOutcomeThroughFailovers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const callers, each = 6, 8
		u := newUpsets(t, r, rapid.IntRange(1, 3).Draw(r, "nodes"), rapid.IntRange(1, 3).Draw(r, "shards"))
		defer u.c.stop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := Dial(u.c.addresses(), WithRetryMax(patience), hasty)
		require.NoError(r, err)
		defer func() { assert.NoError(r, c.Close()) }()
		p, err := c.Producer(ctx, "")
		require.NoError(r, err)
		outcomes := make(chan made, callers*each)
		var calls sync.WaitGroup
		for i := range callers {
			calls.Go(func() {
				for j := 0; j < each; {
					n := 1 + (i+j)%3
					var tasks []Task
					for k := range min(n, each-j) {
						name := fmt.Sprintf("%d/%d", i, j+k)
						task := Task{Queue: "q", Payload: []byte(name)}
						if (i+j+k)%2 == 0 {
							task.Key = name
						}
						tasks = append(tasks, task)
					}
					if len(tasks) == 1 {
						id, err := p.Enqueue(ctx, tasks[0])
						outcomes <- made{string(tasks[0].Payload), tasks[0].Key, id, err}
					} else {
						ids, errs, err := p.EnqueueBatch(ctx, tasks)
						for k, task := range tasks {
							m := made{name: string(task.Payload), key: task.Key, err: err}
							if err == nil {
								m.id = ids[k]
							}
							if errs != nil {
								m.err = errs[k]
							}
							outcomes <- m
						}
					}
					j += len(tasks)
				}
			})
		}
		var all []made
		for range rapid.IntRange(0, 12).Draw(r, "upsets") {
			u.one()
			for range rapid.IntRange(0, 6).Draw(r, "outcomes meanwhile") {
				if len(all) < callers*each {
					all = append(all, <-outcomes)
				}
			}
		}
		calls.Wait()
		require.NoError(r, p.Close(ctx))
		for len(all) < callers*each {
			all = append(all, <-outcomes)
		}
		stored := u.c.payloads()
		for _, m := range all {
			times := 0
			for _, s := range stored {
				if s == m.name {
					times++
				}
			}
			switch {
			case m.err == nil:
				require.Equal(r, 1, times, "%s is acknowledged", m.name)
				require.Equal(r, m.name, u.c.byID[m.id].payload, "with this id")
			case m.key != "":
				require.NoError(r, m.err, "a task with a key can be repeated until it is stored")
			default:
				require.ErrorIs(r, m.err, ErrUnknownOutcome)
				require.LessOrEqual(r, times, 1)
			}
		}
	})
}

// TestEachTaskIsCompletedOnceThroughFailovers works through a cluster during faults: no task is
// completed twice or lost, each completion has the outcome that the cluster has or an unknown one,
// and no session has more tasks than slots.
func TestEachTaskIsCompletedOnceThroughFailovers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const tasks, workers = 40, 4
		u := newUpsets(t, r, rapid.IntRange(1, 3).Draw(r, "nodes"), rapid.IntRange(1, 3).Draw(r, "shards"))
		defer u.c.stop()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		u.c.mu.Lock()
		for i := range tasks {
			s := &storedTask{id: fmt.Sprint(i), shard: i % len(u.c.leaders)}
			u.c.stored, u.c.byID[s.id] = append(u.c.stored, s), s
		}
		u.c.mu.Unlock()
		c, err := Dial(u.c.addresses(), WithRetryMax(patience), hasty)
		require.NoError(r, err)
		defer func() { assert.NoError(r, c.Close()) }()
		slots := rapid.IntRange(1, 12).Draw(r, "slots")
		w, err := c.Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: slots})
		require.NoError(r, err)
		type done struct {
			id  string
			err error
		}
		outcomes := make(chan done, 10*tasks)
		stolen := map[string]bool{}
		stop, stopped := context.WithCancel(ctx)
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() {
				for {
					task, err := w.Receive(stop)
					if err != nil {
						return
					}
					batch := []*queuepb.Task{task}
					if i%2 == 0 {
						for len(batch) < 3 {
							more, ok := w.TryReceive()
							if !ok {
								break
							}
							batch = append(batch, more)
						}
					}
					if len(batch) == 1 {
						outcomes <- done{task.GetId(), w.Complete(ctx, task)}
						continue
					}
					errs, err := w.CompleteBatch(ctx, batch)
					for k, t := range batch {
						d := done{t.GetId(), err}
						if errs != nil {
							d.err = errs[k]
						}
						outcomes <- d
					}
				}
			})
		}
		settled := map[string]error{}
		take := func() {
			select {
			case d := <-outcomes:
				if stolen[d.id] && errors.Is(d.err, ErrStaleToken) {
					return // the task is being delivered again
				}
				if errors.Is(d.err, ErrUnknownOutcome) && !u.c.isCompleted(d.id) {
					return // as above
				}
				_, twice := settled[d.id]
				require.False(r, twice, "task %s", d.id)
				settled[d.id] = d.err
			case <-ctx.Done():
				r.Fatalf("%d of %d tasks are settled", len(settled), tasks)
			}
			w.slots.check(r, slots)
		}
		// Tasks that a broken link had pushed are lost to the session until their leases end: the
		// test ends these leases.
		redeliver := func() {
			u.c.change(func() {
				w.slots.leases.mu.Lock()
				defer w.slots.leases.mu.Unlock()
				for _, s := range u.c.stored {
					if s.token != 0 && s.completed == 0 && w.slots.leases.find(s.id, s.token) < 0 {
						s.token = 0
						stolen[s.id] = true
					}
				}
			})
		}
		for range rapid.IntRange(0, 12).Draw(r, "upsets") {
			u.one()
			for range rapid.IntRange(0, 3).Draw(r, "outcomes meanwhile") {
				if len(settled) < tasks/2 {
					take()
				}
			}
		}
		u.c.change(func() { u.faults = nil })
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for len(settled) < tasks {
			select {
			case <-tick.C:
				redeliver()
			case d := <-outcomes:
				outcomes <- d
				take()
			case <-ctx.Done():
				r.Fatalf("%d of %d tasks are settled", len(settled), tasks)
			}
		}
		stopped()
		all.Wait()
		require.NoError(r, w.Close(ctx))
		for _, s := range u.c.stored {
			require.Equal(r, 1, s.completed, "task %s", s.id)
			// The answer that confirmed the completion was lost.
			if err := settled[s.id]; !errors.Is(err, ErrUnknownOutcome) {
				require.NoError(r, err, "task %s", s.id)
			}
		}
	})
}

func (c *cluster) isCompleted(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id].completed > 0
}

// check compares the slots of the links with the total.
func (s *slots) check(r require.TestingT, total int) {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	sum, live := s.spare, int32(0)
	for _, l := range s.links {
		sum += l.has
		live += l.tasks
		require.GreaterOrEqual(r, l.has, l.tasks)
		require.GreaterOrEqual(r, l.tasks, int32(0))
	}
	orphans := int32(s.leases.count) - live
	require.GreaterOrEqual(r, orphans, int32(0))
	require.GreaterOrEqual(r, s.spare, int32(0))
	require.EqualValues(r, total, sum+orphans)
	require.LessOrEqual(r, s.leases.count, total)
}

// hasty reduces a client's waits to a tenth.
var hasty = timingOption{timing: timing{
	waitMin: defaultTiming.waitMin / 10, waitMax: defaultTiming.waitMax / 10, keeperWaitMax: defaultTiming.keeperWaitMax / 10, calm: defaultTiming.calm / 10,
	leaveMax: defaultTiming.leaveMax / 10, openMax: defaultTiming.openMax, balanceEvery: defaultTiming.balanceEvery / 10,
	resultWait: defaultTiming.resultWait, answerMax: defaultTiming.answerMax,
	askMax: defaultTiming.askMax, askGrace: defaultTiming.askGrace, askEvery: defaultTiming.askEvery / 10, peersEvery: defaultTiming.peersEvery / 10,
}}
