package historytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// BatchCaller is a client that makes one unary call after another, each with several items. Its
// fields must not be changed while Mix runs. It is not safe for concurrent use.
type BatchCaller struct {
	Recorder *Recorder
	APIs     []queuepb.QueueServiceClient // each call uses a random one of them
	Client   int
	Queues   []string
	Lease    time.Duration
	Timeout  time.Duration // timeout of each call
	SizeMax  int           // maximum number of items in a batch

	enqueued int
	leased   []*queuepb.Task
	ended    []*queuepb.Task // tasks whose leases this client has already settled
}

// endedMax is the maximum number of settled leases that a BatchCaller remembers.
const endedMax = 64

// Mix enqueues, claims and settles batches at random, with a pause after each call, until stop is
// closed or ctx ends. A batch of settlements contains tasks of several claims in random order, so
// that it concerns several shards. Some of its leases are already settled: the server must refuse
// these settlements and no others.
func (b *BatchCaller) Mix(ctx context.Context, stop <-chan struct{}, every time.Duration) {
	for !closed(ctx, stop) {
		switch pick := rand.IntN(10); {
		case pick < 3:
			b.enqueue(ctx)
		case pick < 5 && len(b.leased) < 4*b.SizeMax || len(b.leased) == 0:
			b.claim(ctx)
		default:
			b.settle(ctx)
		}
		pause(ctx, stop, every)
	}
}

func (b *BatchCaller) api() queuepb.QueueServiceClient { return b.APIs[rand.IntN(len(b.APIs))] }

// begin records the start of one operation per item. The returned function records their ends;
// change sets the outcome of each.
func (b *BatchCaller) begin(ops []Op) (returned func(change func(i int, o *Op))) {
	returns := make([]func(func(*Op)), len(ops))
	for i := range ops {
		returns[i] = b.Recorder.Call(ops[i])
	}
	return func(change func(i int, o *Op)) {
		for i := range returns {
			returns[i](func(o *Op) { change(i, o) })
		}
	}
}

func (b *BatchCaller) enqueue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	in := &queuepb.EnqueueRequest{}
	var ops []Op
	for range 1 + rand.IntN(b.SizeMax) {
		b.enqueued++
		queue, payload := b.Queues[rand.IntN(len(b.Queues))], fmt.Sprintf("%d/%d", b.Client, b.enqueued)
		in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: queue, Payload: []byte(payload), MaxAttempts: maxAttempts})
		ops = append(ops, Op{Client: b.Client, Kind: Enqueue, Queue: queue, Payload: payload})
	}
	returned := b.begin(ops)
	out, err := b.api().Enqueue(ctx, in)
	returned(func(i int, o *Op) {
		o.Outcome, o.Note = ofStatus(err), text(err)
		if err == nil {
			r := out.GetResults()[i]
			o.ID = r.GetId()
			o.noteResult(r.GetError())
		}
	})
}

func (o *Op) noteResult(e *queuepb.ItemError) {
	outcome, err := ofResult(e)
	o.Outcome, o.Note = outcome, text(err)
}

func (b *BatchCaller) claim(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	ops := make([]Op, b.SizeMax)
	for i := range ops {
		ops[i] = Op{Client: b.Client, Kind: Claim, LeaseMs: b.Lease.Milliseconds()}
	}
	returned := b.begin(ops)
	out, err := b.api().Claim(ctx, &queuepb.ClaimRequest{Queues: b.Queues, MaxTasks: uint32(b.SizeMax), LeaseMs: uint64(b.Lease.Milliseconds())})
	tasks := out.GetTasks()
	returned(func(i int, o *Op) {
		o.Outcome, o.Note = ofStatus(err), text(err)
		if i < len(tasks) {
			o.claimed(tasks[i])
		}
	})
	b.leased = append(b.leased, tasks...)
}

// settle settles or extends some of the leased tasks. It also tries to settle some tasks whose
// lease has already ended.
func (b *BatchCaller) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	rand.Shuffle(len(b.leased), func(i, j int) { b.leased[i], b.leased[j] = b.leased[j], b.leased[i] })
	n := min(len(b.leased), 1+rand.IntN(b.SizeMax))
	tasks := slices.Clone(b.leased[:n])
	for range min(rand.IntN(n+1), len(b.ended)) {
		tasks = append(tasks, b.ended[rand.IntN(len(b.ended))])
	}
	rand.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	kind := []Kind{Complete, Complete, Complete, Fail, Release, Extend}[rand.IntN(6)]
	if kind != Extend {
		b.leased = b.leased[n:]
	}
	ops := make([]Op, len(tasks))
	for i, t := range tasks {
		ops[i] = settlement(b.Client, t, kind)
		if kind == Extend {
			ops[i].LeaseMs = b.Lease.Milliseconds()
		}
	}
	returned := b.begin(ops)
	results, err := settleBatch(ctx, b.api(), kind, tasks, b.Lease)
	returned(func(i int, o *Op) {
		o.Outcome, o.Note = ofStatus(err), text(err)
		if err == nil {
			o.noteResult(results[i].GetError())
		}
		if o.Outcome == OK && kind.ends() {
			b.ended = append(b.ended, tasks[i])
		}
	})
	b.ended = b.ended[max(0, len(b.ended)-endedMax):]
}

func settleBatch(ctx context.Context, api queuepb.QueueServiceClient, kind Kind, tasks []*queuepb.Task, lease time.Duration) ([]*queuepb.SettleResult, error) {
	switch kind {
	case Complete:
		in := &queuepb.CompleteRequest{}
		for _, t := range tasks {
			in.Completions = append(in.Completions, &queuepb.Completion{Id: t.GetId(), Token: t.GetToken()})
		}
		out, err := api.Complete(ctx, in)
		return out.GetResults(), err
	case Fail:
		in := &queuepb.FailRequest{}
		for _, t := range tasks {
			in.Failures = append(in.Failures, &queuepb.Failure{Id: t.GetId(), Token: t.GetToken(), DelayMs: 1})
		}
		out, err := api.Fail(ctx, in)
		return out.GetResults(), err
	case Release:
		in := &queuepb.ReleaseRequest{}
		for _, t := range tasks {
			in.Releases = append(in.Releases, &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken()})
		}
		out, err := api.Release(ctx, in)
		return out.GetResults(), err
	case Extend:
		in := &queuepb.ExtendRequest{}
		for _, t := range tasks {
			in.Extensions = append(in.Extensions, &queuepb.Extension{Id: t.GetId(), Token: t.GetToken(), LeaseMs: uint64(lease.Milliseconds())})
		}
		out, err := api.Extend(ctx, in)
		return out.GetResults(), err
	case Enqueue, Claim, Read:
	}
	panic("history: no call settles with kind " + kind.String())
}
