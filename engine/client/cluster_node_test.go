package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

func (n *clusterNode) GetRoutes(ctx context.Context, in *queuepb.GetRoutesRequest) (*queuepb.GetRoutesResponse, error) {
	c := n.cluster
	out, changed := n.routes()
	if in.GetVersion() != 0 && in.GetVersion() == out.GetVersion() {
		c.watchers.Add(1)
		defer c.watchers.Add(-1)
		select {
		case <-changed:
		case <-time.After(time.Duration(in.GetWaitMs()) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		out, _ = n.routes()
	}
	c.mu.Lock()
	hangs := n.hangs
	c.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return out, nil
}

// routes returns the routes that a node reports, and a channel that is closed with the next change.
func (n *clusterNode) routes() (*queuepb.GetRoutesResponse, <-chan struct{}) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &queuepb.GetRoutesResponse{Version: c.changes + 1, Node: fmt.Sprintf("n%d", n.index)}
	leaders := c.leaders
	if n.lies != nil {
		leaders = n.lies
	}
	if c.alone {
		out.Version, out.Node = 0, ""
	}
	for s, l := range leaders {
		if c.alone {
			out.Routes = append(out.Routes, &queuepb.Route{Shard: uint32(s), Here: true})
			continue
		}
		r := &queuepb.Route{Shard: uint32(s), Address: c.addressOf(l), Here: l == n.index}
		if l >= 0 {
			r.Node = fmt.Sprintf("n%d", l)
		}
		out.Routes = append(out.Routes, r)
	}
	return out, c.moved
}

// frames returns a channel of a stream's frames, which is closed when the client closes its side.
func frames[F any](ctx context.Context, recv func() (*F, error)) <-chan *F {
	out := make(chan *F)
	go func() {
		defer close(out)
		for {
			f, err := recv()
			if err != nil {
				return
			}
			select {
			case out <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (n *clusterNode) Produce(s grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]) error {
	c := n.cluster
	in := frames(s.Context(), s.Recv)
	for {
		c.mu.Lock()
		moved, leads, hangs, denied := c.moved, len(n.led()) > 0, n.hangs, c.denied
		c.mu.Unlock()
		if denied {
			return errDenied
		}
		if !leads && !hangs {
			return notLeading()
		}
		if hangs {
			<-s.Context().Done()
			return s.Context().Err()
		}
		select {
		case <-moved:
		case f, ok := <-in:
			if !ok {
				return nil
			}
			a, err := n.produced(f)
			if err != nil {
				return err
			}
			if err := s.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}); err != nil {
				return err
			}
		}
	}
}

var errCut = status.Error(codes.Unavailable, "the connection was cut")

// end returns the error with which a fault ends a stream, or nil.
func (f fault) end() error {
	switch f {
	case refusedFrame:
		return notLeading()
	case lostAnswer, lostFrame:
		return errCut
	case unclearDone, unclearNotDone:
		return detailed(codes.Aborted, "the lead was lost", &queuepb.UnknownOutcome{})
	default:
		return nil
	}
}

func (f fault) takesEffect() bool { return f != refusedFrame && f != lostFrame && f != unclearNotDone }

func (c *cluster) next(node int, settles bool) fault {
	if c.fault == nil {
		return noFault
	}
	return c.fault(node, settles)
}

func (n *clusterNode) produced(f *queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := c.next(n.index, false)
	a := &queuepb.EnqueueAnswer{Frame: f.GetFrame(), Ids: make([]string, len(f.GetTasks()))}
	if !fault.takesEffect() {
		return a, fault.end()
	}
	for i, t := range f.GetTasks() {
		id, err := n.store(t)
		a.Ids[i] = id
		if err == nil && fault == unclearItems {
			a.Ids[i], err = "", &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, Message: "the lead was lost"}
		}
		if err != nil {
			err.Index = uint32(i)
			a.Errors = append(a.Errors, err)
		}
	}
	c.stir()
	return a, fault.end()
}

// stir wakes all waiting goroutines. The caller must hold mu.
func (c *cluster) stir() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// store stores a task: one with a key on the key's shard, others on any shard that the node leads.
// The caller must hold mu.
func (n *clusterNode) store(t *queuepb.NewTask) (string, *queuepb.ItemError) {
	c := n.cluster
	if strings.Contains(t.GetQueue(), " ") {
		return "", &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, Field: "queue", Message: "no spaces"}
	}
	c.turn++
	led := n.led()
	if len(led) == 0 {
		return "", &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "another node leads"}
	}
	shard := led[c.turn%len(led)]
	if key := t.GetIdempotencyKey(); key != "" {
		shard = 0
		for _, b := range []byte(key) {
			shard = (shard*31 + int(b)) % len(c.leaders)
		}
		if l := c.leaders[shard]; l != n.index {
			return "", &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "another node leads", Leader: c.addressOf(l)}
		}
		if old := c.byKey[key]; old != nil {
			return old.id, nil
		}
	}
	s := &storedTask{id: fmt.Sprintf("%d/%d", shard, len(c.stored)), key: t.GetIdempotencyKey(), payload: string(t.GetPayload()), shard: shard}
	c.stored = append(c.stored, s)
	c.byID[s.id] = s
	if s.key != "" {
		c.byKey[s.key] = s
	}
	return s.id, nil
}

// Enqueue forwards each task to the node that leads.
func (n *clusterNode) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.hangs {
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return nil, ctx.Err()
	}
	out := &queuepb.EnqueueResponse{}
	for i, t := range in.GetTasks() {
		var id string
		err := &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "nobody leads"}
		for _, m := range c.nodes {
			if err != nil && err.GetCode() == queuepb.ErrorCode_ERROR_CODE_NOT_LEADER && m.server != nil {
				id, err = m.store(t)
			}
		}
		if err != nil {
			err.Index = uint32(i)
		}
		out.Results = append(out.Results, &queuepb.EnqueueResult{Id: id, Error: err})
	}
	c.stir()
	if c.breaks > 0 {
		c.breaks--
		return nil, errCut
	}
	return out, nil
}

// AwaitResult waits until the node finishes or does not lead.
func (n *clusterNode) AwaitResult(ctx context.Context, _ *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	n.awaited.Add(1)
	for !n.finishes.Load() {
		n.cluster.mu.Lock()
		moved := n.cluster.moved
		n.cluster.mu.Unlock()
		select {
		case <-moved:
			return nil, errCut
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &queuepb.AwaitResultResponse{State: queuepb.TaskState_TASK_STATE_DONE, Result: []byte(n.address)}, nil
}

func (n *clusterNode) Work(s grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]) error {
	c := n.cluster
	in := frames(s.Context(), s.Recv)
	credits := 0
	c.mu.Lock()
	served := n.led()
	c.mu.Unlock()
	for {
		c.mu.Lock()
		moved, led, hangs, denied := c.moved, n.led(), n.hangs, c.denied
		var out *queuepb.WorkResponse
		if slices.Equal(led, served) && !hangs {
			out = n.push(&credits)
		}
		c.mu.Unlock()
		if denied {
			return errDenied
		}
		if hangs {
			<-s.Context().Done()
			return s.Context().Err()
		}
		if len(led) == 0 || !slices.Equal(led, served) {
			return notLeading()
		}
		if len(out.GetTasks()) > 0 {
			if err := s.Send(out); err != nil {
				return err
			}
		}
		select {
		case <-moved:
		case f, ok := <-in:
			if !ok {
				return nil
			}
			credits += int(f.GetCredits())
			if len(f.GetSettlements()) == 0 {
				continue
			}
			a, err := n.settled(f)
			if err != nil {
				return err
			}
			if err := s.Send(&queuepb.WorkResponse{Answers: []*queuepb.SettleAnswer{a}}); err != nil {
				return err
			}
		}
	}
}

// push leases ready tasks for credits. The caller must hold mu.
func (n *clusterNode) push(credits *int) *queuepb.WorkResponse {
	c := n.cluster
	out := &queuepb.WorkResponse{}
	for _, t := range c.stored {
		if *credits == 0 {
			break
		}
		if c.leaders[t.shard] != n.index || t.token != 0 || t.completed > 0 {
			continue
		}
		c.tokens++
		t.token = c.tokens
		t.times++
		*credits--
		out.Tasks = append(out.Tasks, &queuepb.Task{
			Id: t.id, Token: t.token, Payload: []byte(t.payload), LeaseExpiresAtMs: time.Now().Add(c.lease).UnixMilli(),
		})
	}
	return out
}

func (n *clusterNode) settled(f *queuepb.WorkRequest) (*queuepb.SettleAnswer, error) {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	fault := c.next(n.index, true)
	a := &queuepb.SettleAnswer{Frame: f.GetFrame()}
	if !fault.takesEffect() {
		return a, fault.end()
	}
	for i, s := range f.GetSettlements() {
		err := n.settle(s, false)
		if err == nil && fault == unclearItems {
			err = &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, Message: "the lead was lost"}
		}
		if err != nil {
			err.Index = uint32(i)
			a.Errors = append(a.Errors, err)
		}
	}
	c.stir()
	return a, fault.end()
}

// settle settles a lease. The caller must hold mu.
func (n *clusterNode) settle(s *queuepb.Settlement, forwarded bool) *queuepb.ItemError {
	c := n.cluster
	t := c.byID[s.GetId()]
	switch {
	case t == nil:
		return &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, Message: "no such task"}
	case c.leaders[t.shard] < 0 || c.leaders[t.shard] != n.index && !forwarded:
		return &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "another node leads", Leader: c.addressOf(c.leaders[t.shard])}
	case t.cancelled:
		return &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_CANCELLED, Message: "the task was cancelled"}
	case t.token != s.GetToken() || t.completed > 0:
		return &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "the lease has ended"}
	}
	switch s.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		t.completed++
	case queuepb.SettleAction_SETTLE_ACTION_FAIL, queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		t.token = 0
	}
	return nil
}

func (n *clusterNode) Extend(_ context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	out := &queuepb.ExtendResponse{}
	for _, t := range in.GetExtensions() {
		out.Results = append(out.Results, n.forward(t.GetId(), t.GetToken(), queuepb.SettleAction_SETTLE_ACTION_EXTEND))
	}
	return out, nil
}

func (n *clusterNode) Complete(_ context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	out := &queuepb.CompleteResponse{}
	for _, t := range in.GetCompletions() {
		out.Results = append(out.Results, n.forward(t.GetId(), t.GetToken(), queuepb.SettleAction_SETTLE_ACTION_COMPLETE))
	}
	return out, nil
}

func (n *clusterNode) Release(_ context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	out := &queuepb.ReleaseResponse{}
	for _, t := range in.GetReleases() {
		out.Results = append(out.Results, n.forward(t.GetId(), t.GetToken(), queuepb.SettleAction_SETTLE_ACTION_RELEASE))
	}
	return out, nil
}

func (n *clusterNode) forward(id string, token uint64, action queuepb.SettleAction) *queuepb.SettleResult {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	defer n.cluster.stir()
	return &queuepb.SettleResult{Error: n.settle(&queuepb.Settlement{Id: id, Token: token, Action: action}, true)}
}

func (n *clusterNode) GetTask(_ context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	n.cluster.gets.Add(1)
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	if len(n.led()) == 0 {
		return nil, notLeading()
	}
	return &queuepb.GetTaskResponse{Task: &queuepb.Task{Id: in.GetId(), Payload: []byte(n.address)}}, nil
}
