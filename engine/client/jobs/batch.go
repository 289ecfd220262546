package jobs

import (
	"context"
	"errors"

	"github.com/pronybench/prony/engine/client"
)

// Batch is a final job and the jobs that must finish before it: its members. Members may be of
// different kinds and in different queues. It is not safe for concurrent use.
//
//	batch := jobs.NewBatch(MakeAlbum.Task(Album{ID: 7}, jobs.Key("album-7")))
//	batch.Add(ResizeImage.Task(Resize{Image: "cat.png", Width: 64}))
//	batch.Add(ResizeImage.Task(Resize{Image: "dog.png", Width: 64}))
//	id, err := batch.Enqueue(ctx, producer)
//
// The handler of the final job gets the results of the members from Job.Dependencies.
type Batch struct {
	final   client.Task
	members []client.Task
	err     error
}

// NewBatch returns a batch whose final job is a task of Kind.Task. If err is not nil, Enqueue returns
// it.
func NewBatch(final client.Task, err error) *Batch { return &Batch{final: final, err: err} }

// Add adds a member, which is a task of Kind.Task. If err is not nil, Enqueue returns it.
func (b *Batch) Add(member client.Task, err error) {
	b.members = append(b.members, member)
	b.err = errors.Join(b.err, err)
}

// BatchEnqueuer stores batches. A *client.Producer is a BatchEnqueuer.
type BatchEnqueuer interface {
	EnqueueWithFinal(ctx context.Context, final client.Task, members []client.Task) (id string, ids []string, err error)
}

var _ BatchEnqueuer = (*client.Producer)(nil)

// Enqueue stores the batch and returns the id of the final job. If it fails, some members may be
// stored, and the final job waits for all of them. A second call then stores what is missing, in
// another process too, if the final job has a Key and the members have the same order.
//
// The final job becomes ready once all members are done. Its option DeadDependency determines what
// happens if a member dies.
func (b *Batch) Enqueue(ctx context.Context, to BatchEnqueuer) (id string, err error) {
	if b.err != nil {
		return "", b.err
	}
	id, _, err = to.EnqueueWithFinal(ctx, b.final, b.members)
	return id, err
}
