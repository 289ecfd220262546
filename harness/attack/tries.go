package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

const (
	// emptyTasksBytes is the size of the message in bytes. It is slightly below the largest message
	// that a server accepts. Every two bytes are a task.
	emptyTasksBytes = 15 << 20
	// idleConnections is the number of connections that one attacker opens and does not use.
	idleConnections = 200
	// idleFor is how long an attacker leaves its unused connections or unread streams open before
	// it replaces them.
	idleFor = 2 * time.Second
	// unreadStreams is the number of streams that one attacker opens and never reads.
	unreadStreams = 50
	// largeBytes is the size of a large payload in bytes. largeTasks is the number of tasks with a
	// large payload in one call.
	largeBytes, largeTasks = 1 << 20, 4
	// queuesEach is the number of queues in one call of the attack many-queues.
	queuesEach = 100
	// longErrorBytes is the size of the longest error text of a failure, and longResultBytes is the
	// size of the largest result of a completion, in bytes.
	longErrorBytes, longResultBytes = 4 << 10, 256 << 10
	// waiters is the number of calls with which one attacker waits at the same time. waitMs is the
	// wait that each call requests. It is longer than the attacker waits.
	waiters, waitMs = 200, uint64(2 * idleFor / time.Millisecond)
)

// emptyTasksMessage returns an encoded EnqueueRequest with millions of empty tasks. An empty task
// consists of the tag of the field tasks and a length of 0. The message is built on first use.
// Building it at the start would slow down each program that links this package.
var emptyTasksMessage = sync.OnceValue(func() []byte { return bytes.Repeat([]byte{2<<3 | 2, 0}, emptyTasksBytes/2) })

// emptyTasks sends, without a token, a message that decodes to millions of empty tasks. The message
// is encoded only once, to save CPU time of the attacker.
func (a *attacker) emptyTasks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer []byte
	return a.unauthenticated.Invoke(ctx, queuepb.QueueService_Enqueue_FullMethodName, emptyTasksMessage(), &answer, grpc.ForceCodec(encoded{}))
}

type encoded struct{}

func (encoded) Name() string { return "proto" }

func (encoded) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (encoded) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}

// idleConnections opens connections, sends nothing on them, and closes them after idleFor.
func (a *attacker) idleConnections(ctx context.Context) error {
	var open []net.Conn
	var dialer net.Dialer
	var failed error
	for range idleConnections {
		dialing, cancel := context.WithTimeout(ctx, callTimeout)
		conn, err := dialer.DialContext(dialing, "tcp", a.address)
		cancel()
		if err != nil {
			failed = err
			break
		}
		open = append(open, conn)
	}
	wait(ctx, idleFor)
	for _, conn := range open {
		failed = errors.Join(failed, conn.Close())
	}
	return failed
}

// enqueue enqueues tasks as the attacker's tenant and returns their IDs.
func (a *attacker) enqueue(ctx context.Context, tasks ...*queuepb.NewTask) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := a.tenant.Enqueue(ctx, &queuepb.EnqueueRequest{Tenant: Tenant, Tasks: tasks})
	for _, r := range out.GetResults() {
		if e := r.GetError(); e != nil {
			return nil, status.Error(codes.ResourceExhausted, e.GetMessage())
		}
		ids = append(ids, r.GetId())
	}
	return ids, err
}

func (a *attacker) claim(ctx context.Context, tasksMax uint32, queues ...string) ([]*queuepb.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := a.tenant.Claim(ctx, &queuepb.ClaimRequest{Tenant: Tenant, Queues: queues, MaxTasks: tasksMax, LeaseMs: 1000})
	return out.GetTasks(), err
}

// complete completes tasks. If result is not "", the server stores it.
func (a *attacker) complete(ctx context.Context, tasks []*queuepb.Task, result string) error {
	if len(tasks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request := &queuepb.CompleteRequest{Tenant: Tenant}
	for _, t := range tasks {
		request.Completions = append(request.Completions, &queuepb.Completion{Id: t.GetId(), Token: t.GetToken(), Result: []byte(result)})
	}
	_, err := a.tenant.Complete(ctx, request)
	return err
}

// fail makes tasks fail with an error text. The server may retry each task after a millisecond.
func (a *attacker) fail(ctx context.Context, tasks []*queuepb.Task, text string) error {
	if len(tasks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request := &queuepb.FailRequest{Tenant: Tenant}
	for _, t := range tasks {
		request.Failures = append(request.Failures, &queuepb.Failure{Id: t.GetId(), Token: t.GetToken(), Error: text, DelayMs: 1})
	}
	_, err := a.tenant.Fail(ctx, request)
	return err
}

func large(queue string) []*queuepb.NewTask {
	payload := make([]byte, largeBytes)
	tasks := make([]*queuepb.NewTask, largeTasks)
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: queue, Payload: payload}
	}
	return tasks
}

// unreadStreams opens worker streams, grants credits for large tasks, and never reads from the
// streams.
func (a *attacker) unreadStreams(ctx context.Context) error {
	queue := fmt.Sprintf("unread-%d", a.number)
	_, failed := a.enqueue(ctx, large(queue)...)
	ctx, cancel := context.WithTimeout(ctx, idleFor)
	defer cancel() // ends all streams
	for range unreadStreams {
		stream, err := a.tenant.Work(ctx)
		if err == nil {
			err = stream.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Tenant: Tenant, Queues: []string{queue}, LeaseMs: 1000}, Credits: 1000})
		}
		if err != nil {
			return errors.Join(failed, err)
		}
	}
	<-ctx.Done()
	return failed
}

// largePayloads enqueues tasks with large payloads, claims as many of them as one call can return,
// and completes them.
func (a *attacker) largePayloads(ctx context.Context) error {
	queue := fmt.Sprintf("large-%d", a.number)
	if _, err := a.enqueue(ctx, large(queue)...); err != nil {
		return err
	}
	tasks, err := a.claim(ctx, 1000, queue)
	if err != nil {
		return err
	}
	return a.complete(ctx, tasks, "")
}

// manyQueues enqueues tasks to new queues, and claims from queues that do not exist.
func (a *attacker) manyQueues(ctx context.Context) error {
	tasks := make([]*queuepb.NewTask, queuesEach)
	absent := make([]string, queuesEach)
	now := time.Now().UnixNano()
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: fmt.Sprintf("new-%d-%d-%d", a.number, now, i), Payload: []byte("x")}
		absent[i] = fmt.Sprintf("absent-%d-%d-%d", a.number, now, i)
	}
	_, claimErr := a.claim(ctx, 1, absent...)
	_, err := a.enqueue(ctx, tasks...)
	return errors.Join(err, claimErr)
}

// longErrors repeatedly makes a task fail with the longest error text. It completes other tasks
// with the largest result.
func (a *attacker) longErrors(ctx context.Context) error {
	queue := fmt.Sprintf("errors-%d", a.number)
	const weekMs = 7 * 24 * 3600 * 1000
	_, err := a.enqueue(ctx,
		&queuepb.NewTask{Queue: queue, Payload: []byte("x"), MaxAttempts: 1000, Backoff: &queuepb.Backoff{InitialMs: 1, MaxMs: 1}},
		&queuepb.NewTask{Queue: queue + "-results", Payload: []byte("x"), ResultRetentionMs: weekMs})
	if err != nil {
		return err
	}
	failing, err := a.claim(ctx, 100, queue)
	if err != nil {
		return err
	}
	if err := a.fail(ctx, failing, strings.Repeat("e", longErrorBytes)); err != nil {
		return err
	}
	done, err := a.claim(ctx, 4, queue+"-results")
	if err != nil {
		return err
	}
	return a.complete(ctx, done, strings.Repeat("r", longResultBytes))
}

func (a *attacker) longPolls(ctx context.Context) error {
	return a.together(ctx, func(ctx context.Context, _ int) error {
		_, err := a.tenant.Claim(ctx, &queuepb.ClaimRequest{Tenant: Tenant, Queues: []string{"empty"}, MaxTasks: 1, WaitMs: waitMs})
		return err
	})
}

// together makes the calls of all waiters at the same time. The calls are numbered from 0. After
// idleFor it cancels calls that are still waiting.
func (a *attacker) together(ctx context.Context, call func(context.Context, int) error) error {
	ctx, cancel := context.WithTimeout(ctx, idleFor)
	defer cancel()
	errs := make([]error, waiters)
	var waiting sync.WaitGroup
	for i := range errs {
		waiting.Go(func() {
			// The server's timer may expire first.
			if err := call(ctx, i); ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
				errs[i] = err
			}
		})
	}
	waiting.Wait()
	return errors.Join(errs...)
}
