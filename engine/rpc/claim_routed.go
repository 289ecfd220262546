package rpc

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

const (
	// claimBytesMax limits the bytes of an answer with tasks from several nodes.
	claimBytesMax = 3 << 20
	// A claim that has leased more than claimMoreBytesMax bytes of tasks asks no other node. Its
	// answer then stays below the default limit of a gRPC client.
	claimMoreBytesMax = 256 << 10
	// claimCloseMax limits how long a claim that has received tasks waits for tasks that other
	// nodes leased to it at the same moment.
	claimCloseMax = 250 * time.Millisecond
	// claimReturnMax limits the time for releasing leased tasks that do not fit into the answer.
	claimReturnMax = 2 * time.Second
)

// untilOf returns a function that returns the remaining milliseconds of a wait that starts now.
func untilOf(waitMs uint64) func() uint64 {
	until := time.Now().Add(time.Duration(waitMs) * time.Millisecond)
	return func() uint64 { return uint64(max(0, time.Until(until).Milliseconds())) }
}

// Claim implements queuepb.QueueServiceServer.
func (s *Service) Claim(ctx context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
	claim, err := s.checkClaim(ctx, in)
	if err != nil {
		return nil, s.refuse(err)
	}
	if len(in.GetCompletions()) > 0 {
		return s.completeAndClaim(ctx, in, claim)
	}
	return s.claimChecked(ctx, in, claim)
}

// claimChecked executes a checked claim without its completions. If several nodes lead shards, it
// asks one node after another for ready tasks. If no task is ready, it then waits at all nodes
// simultaneously.
func (s *Service) claimChecked(ctx context.Context, in *queuepb.ClaimRequest, claim queue.Claim) (*queuepb.ClaimResponse, error) {
	if !s.router.Routes(ctx) {
		return s.claimHere(ctx, claim, in.GetWaitMs(), nil)
	}
	c := &routedClaim{service: s, in: in, claim: claim, left: untilOf(in.GetWaitMs())}
	var out *queuepb.ClaimResponse
	err := s.router.Retry(ctx, true, func() (orphan int, err error) {
		if out, err = c.round(ctx); err != nil {
			_, orphan = s.router.Leaders()
		}
		return max(0, orphan), err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// routedClaim is a claim at all leading nodes of a cluster.
type routedClaim struct {
	service *Service
	in      *queuepb.ClaimRequest
	claim   queue.Claim   // in after validation and conversion
	left    func() uint64 // the remaining wait in milliseconds
}

// ask returns a request for the given number of tasks. If wait is true, the request has the claim's
// remaining wait; otherwise it does not wait.
func (c *routedClaim) ask(tasks uint32, wait bool) *queuepb.ClaimRequest {
	in := &queuepb.ClaimRequest{
		Tenant: c.in.GetTenant(), Queues: c.in.GetQueues(), Weights: c.in.GetWeights(), LeaseMs: c.in.GetLeaseMs(), MaxTasks: tasks,
	}
	if wait {
		in.WaitMs = c.left()
	}
	return in
}

func (c *routedClaim) at(ctx context.Context, t *route.Target, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
	if !t.Local() {
		return t.Queues().Claim(ctx, in)
	}
	return c.here(ctx, in, nil)
}

func (c *routedClaim) here(ctx context.Context, in *queuepb.ClaimRequest, settled <-chan struct{}) (*queuepb.ClaimResponse, error) {
	claim := c.claim
	claim.Credit = max(1, int(in.GetMaxTasks()))
	return c.service.claimHere(ctx, claim, in.GetWaitMs(), settled)
}

// round claims tasks at the nodes that lead now. It returns route.ErrRetry if no task was leased
// and other nodes now lead.
func (c *routedClaim) round(ctx context.Context) (*queuepb.ClaimResponse, error) {
	nodes, _ := c.service.router.Leaders()
	switch {
	case len(nodes) == 0:
		return nil, route.ErrRetry
	case len(nodes) == 1:
		t := c.service.router.Target(nodes[0], 0)
		out, err := c.at(ctx, t, c.ask(c.in.GetMaxTasks(), true))
		return out, t.ReadFailure(err)
	}
	out, err := c.inTurn(ctx, nodes)
	if err != nil || len(out.GetTasks()) > 0 || c.left() == 0 {
		return out, err
	}
	waited, err := c.everywhere(ctx, nodes)
	if err == nil && len(waited.GetTasks()) == 0 {
		// The other nodes wait with streams. Streams do not report paused queues or quotas.
		waited.PausedQueues, waited.Quota = out.GetPausedQueues(), out.GetQuota()
	}
	return waited, err
}

// inTurn leases ready tasks from one node after another until the claim has enough.
func (c *routedClaim) inTurn(ctx context.Context, nodes []string) (*queuepb.ClaimResponse, error) {
	out, want, bytes := &queuepb.ClaimResponse{}, max(1, c.in.GetMaxTasks()), 0
	var failed error
	for _, node := range nodes {
		t := c.service.router.Target(node, route.ForwardMax)
		part, err := c.at(ctx, t, c.ask(want-uint32(len(out.GetTasks())), false))
		if err != nil {
			if err = t.ReadFailure(err); failed == nil || errors.Is(failed, route.ErrRetry) {
				failed = err
			}
			continue
		}
		out.Tasks = append(out.Tasks, part.GetTasks()...)
		out.PausedQueues, out.Quota = mergePaused(out.GetPausedQueues(), part.GetPausedQueues()), cmp.Or(out.GetQuota(), part.GetQuota())
		for _, t := range part.GetTasks() {
			bytes += call.TaskBytes(t)
		}
		if len(out.GetTasks()) >= int(want) || bytes > claimMoreBytesMax {
			break
		}
	}
	if len(out.GetTasks()) > 0 {
		out.PausedQueues, out.Quota = nil, ""
		return out, nil
	}
	return out, failed
}

// everywhere waits at all nodes. Once one node has leased a task, the waits at the other nodes end.
// Those nodes may have leased tasks at the same moment: the answer includes them if they fit, and
// everywhere releases the others.
func (c *routedClaim) everywhere(ctx context.Context, nodes []string) (*queuepb.ClaimResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &waitingClaim{routedClaim: c, settled: make(chan struct{})}
	var all sync.WaitGroup
	for _, node := range nodes {
		all.Go(func() { w.end(w.wait(ctx, c.service.router.Target(node, 0))) })
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	var ended error
	wait := time.NewTimer(time.Duration(c.left()) * time.Millisecond)
	defer wait.Stop()
	select {
	case <-w.settled:
	case <-wait.C:
	case <-c.service.stopping:
	case <-call.TokenEnded(ctx):
		ended = access.ErrEnded
	case <-ctx.Done():
	}
	w.settle()
	closing := time.NewTimer(claimCloseMax)
	defer closing.Stop()
	select {
	case <-over:
	case <-closing.C: // a node that does not answer may have leased tasks: the leases expire
		cancel()
		<-over
	}
	if ended == nil {
		ended = ctx.Err()
	}
	return w.answer(ctx, ended)
}

// waitingClaim is a claim that waits at several nodes.
type waitingClaim struct {
	*routedClaim

	settled chan struct{} // closed when the nodes should lease no more tasks
	once    sync.Once

	mu     sync.Mutex
	tasks  []*queuepb.Task
	failed error
}

func (w *waitingClaim) settle() { w.once.Do(func() { close(w.settled) }) }

// end records the result of the wait at one node. Any error ends the waits at all nodes: either the
// leaders must be looked up again, or the call is refused.
func (w *waitingClaim) end(tasks []*queuepb.Task, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, tasks...)
	if err != nil && (w.failed == nil || errors.Is(w.failed, route.ErrRetry)) {
		w.failed = err
	}
	if len(tasks) > 0 || err != nil {
		w.settle()
	}
}

// wait waits for tasks at one node. At another node it uses a Work stream: unlike a unary call, a
// stream can be ended without losing tasks that are being leased.
func (w *waitingClaim) wait(ctx context.Context, t *route.Target) ([]*queuepb.Task, error) {
	if t.Local() {
		out, err := w.here(ctx, w.ask(w.in.GetMaxTasks(), true), w.settled)
		return out.GetTasks(), t.ReadFailure(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.Queues().Work(ctx)
	if err != nil {
		return nil, t.ReadFailure(err)
	}
	// If sending fails, Recv returns the error.
	_ = stream.Send(&queuepb.WorkRequest{
		Open:    &queuepb.WorkOpen{Tenant: w.in.GetTenant(), Queues: w.in.GetQueues(), Weights: w.in.GetWeights(), LeaseMs: w.in.GetLeaseMs()},
		Credits: max(1, w.in.GetMaxTasks()),
	})
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-w.settled:
			_ = stream.CloseSend()
		case <-over:
		}
	}()
	var tasks []*queuepb.Task
	for {
		out, err := stream.Recv()
		if err != nil {
			return tasks, t.ReadFailure(endOfStream(err))
		}
		if tasks = append(tasks, out.GetTasks()...); len(tasks) > 0 {
			w.settle()
		}
	}
}

// answer returns the leased tasks that fit into an answer, and releases the others.
func (w *waitingClaim) answer(ctx context.Context, ended error) (*queuepb.ClaimResponse, error) {
	n, bytes, most := 0, 0, int(max(1, w.in.GetMaxTasks()))
	for ended == nil && n < len(w.tasks) && n < most {
		if bytes += call.TaskBytes(w.tasks[n]); n > 0 && bytes > claimBytesMax {
			break
		}
		n++
	}
	w.service.returnTasks(ctx, w.in.GetTenant(), w.tasks[n:])
	switch {
	case ended != nil:
		return nil, call.Status(ended)
	case n > 0:
		return &queuepb.ClaimResponse{Tasks: w.tasks[:n]}, nil
	case w.left() == 0 && errors.Is(w.failed, route.ErrRetry):
		return &queuepb.ClaimResponse{}, nil
	}
	return &queuepb.ClaimResponse{}, w.failed
}

// returnTasks releases leased tasks that do not fit into an answer. If the release fails, their
// leases expire. tenant is the tenant's name in the caller's request, which may be empty.
func (s *Service) returnTasks(ctx context.Context, tenant string, tasks []*queuepb.Task) {
	if len(tasks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimReturnMax)
	defer cancel()
	for from := 0; from < len(tasks); from += s.limits.BatchMax {
		in := &queuepb.ReleaseRequest{Tenant: tenant}
		for _, t := range tasks[from:min(len(tasks), from+s.limits.BatchMax)] {
			in.Releases = append(in.Releases, &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken()})
		}
		_, _ = s.Release(ctx, in)
	}
}
