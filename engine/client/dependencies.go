package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// MembersMax is the maximum number of members of a batch.
const MembersMax = 100_000

// EnqueueWithFinal stores a batch: first its final task, then its members, which are up to
// MembersMax tasks in any queues. The final task becomes ready once all members are done; its
// DeadDependency determines what happens if a member dies. It returns the id of the final task and the
// ids of the members.
//
// The batch is not stored atomically. If EnqueueWithFinal fails, or the program ends before it
// returns, the final task may wait for members that were not stored. Call it again then, with the same
// tasks: this stores what is missing, and nothing twice. It requires that final has a Key, and that
// the second call begins within the window of keys of the queues. A member without a Key gets the
// final task's id followed by "/" and the index of the member. A member with a Key of its own that
// another task of its queue holds is not stored, and the final task waits for it in vain. If the final
// task has no Key, all generated keys are new, so a second call stores another batch.
//
// The error is as that of Enqueue. A member that the server refused is an *Error, and the members
// after it may not be stored.
func (p *Producer) EnqueueWithFinal(ctx context.Context, final Task, members []Task) (id string, ids []string, err error) {
	if len(members) == 0 || len(members) > MembersMax {
		return "", nil, fmt.Errorf("members: %w: a batch of %d: pass 1 to %d", ErrInvalidArgument, len(members), MembersMax)
	}
	if final.Key == "" {
		final.Key = rand.Text()
	}
	if u := final.Unique; u != nil && u.Conflict != ReturnFirst {
		return "", nil, fmt.Errorf("final: %w: a second call could not find the final task of the first: set the conflict of unique to ReturnFirst", ErrInvalidArgument)
	}
	for i := range members {
		if u := members[i].Unique; u != nil && (u.Scope != ForATime || u.Conflict != ReturnFirst) {
			return "", nil, fmt.Errorf("member %d: %w: a second call could store it twice: set the scope of unique to ForATime and its conflict to ReturnFirst", i, ErrInvalidArgument)
		}
	}
	final.BatchSize = uint32(len(members))
	if id, err = p.Enqueue(ctx, final); err != nil {
		return "", nil, fmt.Errorf("enqueue the final task: %w", err)
	}
	ids = make([]string, 0, len(members))
	var frame []Task
	for len(ids) < len(members) {
		frame = frame[:0]
		for bytes := 0; len(ids)+len(frame) < len(members) && len(frame) < frameTasksMax; {
			i := len(ids) + len(frame)
			t := members[i]
			t.Batch = id
			if t.Key == "" {
				t.Key = id + "/" + strconv.Itoa(i)
			}
			if bytes += t.bytes(); bytes > frameBytesMax && len(frame) > 0 {
				break
			}
			frame = append(frame, t)
		}
		stored, errs, err := p.EnqueueBatch(ctx, frame)
		if err != nil {
			return id, ids, fmt.Errorf("enqueue the members from %d on: %w", len(ids), err)
		}
		for i, err := range errs {
			if err != nil {
				return id, ids, fmt.Errorf("enqueue member %d: %w", len(ids)+i, err)
			}
		}
		ids = append(ids, stored...)
	}
	return id, ids, nil
}

// Dependencies iterates over the finished tasks that a task waited for: those of its After, and the
// members of its batch. It requests them page by page. After an error it ends. The error is ErrNotFound
// if the task does not exist or is finished. If tenant is "", it is the token's tenant.
func (c *Client) Dependencies(ctx context.Context, tenant, id string) iter.Seq2[*queuepb.Dependency, error] {
	return func(yield func(*queuepb.Dependency, error) bool) {
		in := &queuepb.ListDependenciesRequest{Tenant: tenant, Id: id, PageSize: dependenciesPage}
		for {
			out, err := c.listDependencies(ctx, in)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, d := range out.GetDependencies() {
				if !yield(d, nil) {
					return
				}
			}
			if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
				return
			}
		}
	}
}

// dependenciesPage is the number of dependencies on a page.
const dependenciesPage = 1_000

// listDependencies requests a page.
func (c *Client) listDependencies(ctx context.Context, in *queuepb.ListDependenciesRequest) (*queuepb.ListDependenciesResponse, error) {
	for {
		out, switched, err := once(ctx, c, 0, c.api.ListDependencies, in)
		switch {
		case err == nil:
			return out, nil
		case switched:
		case status.Code(err) == codes.NotFound:
			return nil, fmt.Errorf("%w: %s", ErrNotFound, status.Convert(err).Message())
		default:
			return nil, fmt.Errorf("list the dependencies of task %s: %w", in.GetId(), err)
		}
	}
}
