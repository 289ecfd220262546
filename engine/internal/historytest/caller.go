package historytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Caller is a client that makes one unary call after another. It is not safe for concurrent use.
type Caller struct {
	Recorder *Recorder
	API      queuepb.QueueServiceClient
	Client   int
	Queue    string
	Lease    time.Duration
	Timeout  time.Duration // timeout of each call
}

// Enqueue enqueues one task. It returns the task's id, or "" if the enqueue was not acknowledged.
func (c *Caller) Enqueue(ctx context.Context, payload string) (string, Outcome) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	returned := c.Recorder.Call(Op{Client: c.Client, Kind: Enqueue, Queue: c.Queue, Payload: payload})
	out, err := c.API.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: c.Queue, Payload: []byte(payload), MaxAttempts: maxAttempts}}})
	outcome, id := ofStatus(err), ""
	if outcome == OK {
		r := out.GetResults()[0]
		id = r.GetId()
		outcome, err = ofResult(r.GetError())
	}
	returned(func(o *Op) { o.ID, o.Outcome, o.Note = id, outcome, text(err) })
	return id, outcome
}

// claimAnswerMax exceeds the usual duration of a claim that does not wait. If a claim takes longer,
// the called node may have repeated it at another leader. The first leader may then have leased a
// task that no client knows until the lease ends.
const claimAnswerMax = 200 * time.Millisecond

// Claim claims one task. It returns nil if no task is ready.
func (c *Caller) Claim(ctx context.Context) (*queuepb.Task, Outcome) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	op := Op{Client: c.Client, Kind: Claim, Queue: c.Queue, LeaseMs: c.Lease.Milliseconds()}
	returned, before, began := c.Recorder.Call(op), c.Recorder.Call(op), time.Now()
	out, err := c.API.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{c.Queue}, MaxTasks: 1, LeaseMs: uint64(c.Lease.Milliseconds())})
	outcome := ofStatus(err)
	var t *queuepb.Task
	if outcome == OK && len(out.GetTasks()) > 0 {
		t = out.GetTasks()[0]
	}
	if outcome == OK && time.Since(began) > claimAnswerMax {
		before(func(o *Op) { o.Outcome, o.Note = Unknown, "an earlier answer to the following claim may be lost" })
	}
	returned(func(o *Op) {
		o.Outcome, o.Note = outcome, text(err)
		if t != nil {
			o.claimed(t)
		}
	})
	return t, outcome
}

// Settle completes, fails or releases a task.
func (c *Caller) Settle(ctx context.Context, t *queuepb.Task, kind Kind) Outcome {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	returned := c.Recorder.Call(settlement(c.Client, t, kind))
	results, err := settleBatch(ctx, c.API, kind, []*queuepb.Task{t}, c.Lease)
	outcome := ofStatus(err)
	if outcome == OK {
		outcome, err = ofResult(results[0].GetError())
	}
	returned(func(o *Op) { o.Outcome, o.Note = outcome, text(err) })
	return outcome
}

// Read requests the state of a task.
func (c *Caller) Read(ctx context.Context, id, payload string) (queuepb.TaskState, Outcome) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	returned := c.Recorder.Call(Op{Client: c.Client, Kind: Read, Queue: c.Queue, Payload: payload, ID: id})
	out, err := c.API.GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
	outcome := ofStatus(err)
	if outcome == Stale {
		outcome = OK // "not found" is a valid answer
	}
	state := out.GetTask().GetState()
	returned(func(o *Op) { o.State, o.Outcome, o.Note = state, outcome, text(err) })
	return state, outcome
}

// Mix makes random calls of all kinds, with a pause after each. It ends when stop is closed, ctx
// ends, or the given number of calls is reached.
func (c *Caller) Mix(ctx context.Context, stop <-chan struct{}, calls int, every time.Duration) {
	type task struct{ id, payload string }
	var leased []*queuepb.Task
	var known []task
	for n := range calls {
		if closed(ctx, stop) {
			return
		}
		switch pick := rand.IntN(10); {
		case pick < 4:
			payload := fmt.Sprintf("%d/%d", c.Client, n)
			if id, outcome := c.Enqueue(ctx, payload); outcome == OK {
				known = append(known, task{id, payload})
			}
		case pick < 7 || len(leased) == 0:
			if t, _ := c.Claim(ctx); t != nil {
				leased = append(leased, t)
				known = append(known, task{t.GetId(), string(t.GetPayload())})
			}
		case pick < 9:
			t := leased[0]
			leased = leased[1:]
			c.Settle(ctx, t, []Kind{Complete, Complete, Complete, Fail, Release}[rand.IntN(5)])
		default:
			t := known[rand.IntN(len(known))]
			c.Read(ctx, t.id, t.payload)
		}
		pause(ctx, stop, every)
	}
}

func ofResult(e *queuepb.ItemError) (Outcome, error) {
	if e == nil {
		return OK, nil
	}
	return ofItem(e.GetCode()), fmt.Errorf("%s: %s", e.GetCode(), e.GetMessage())
}
