//go:build planted

package storage

import (
	"slices"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// PlantedBatch is a batch with the faults of package planted that concern writes and commits.
type PlantedBatch struct{ *Batch }

// PutTask implements queue.Journal.
func (b PlantedBatch) PutTask(ref queue.Ref, t queue.Task) {
	b.Batch.PutTask(ref, t)
	b.note(planted.Task(b.store.files, b.store.dir))
}

// PutFresh implements queue.Journal.
func (b PlantedBatch) PutFresh(ref queue.Ref, t queue.Task) {
	b.Batch.PutFresh(ref, t)
	b.note(planted.Task(b.store.files, b.store.dir))
}

// PutLease implements queue.Journal. The fault simulates a claim without a cursor: it scans the
// lane for its first task, and starts planted.Claim seqs before the batch.
func (b PlantedBatch) PutLease(batch uint64, refs []queue.LeaseRef, claimedMs int64) {
	b.Batch.PutLease(batch, refs, claimedMs)
	before := planted.Claim()
	if before == 0 || len(refs) == 0 {
		return
	}
	ref := refs[0].Ref
	ref.Seq -= min(ref.Seq, before)
	from := record.RefKey(record.PrefixTask, ref)
	b.note(b.store.scan(StepClaim, from, from[:1+4+1], func(_, _ []byte) (bool, error) { return false, nil }))
}

// PutQueue implements queue.Journal.
func (b PlantedBatch) PutQueue(r *queue.Record) {
	for range 1 + planted.Writes() {
		b.Batch.PutQueue(r)
	}
}

// Submit submits the batch. With the fault early, Wait of a replicated commit returns immediately.
func (b PlantedBatch) Submit() (Commit, error) {
	planted.BeforeCommit()
	c, err := b.Batch.Submit()
	if c.proposal != nil && planted.Hits(planted.Early) {
		c.proposal = acknowledged{c.proposal}
	}
	return c, err
}

type acknowledged struct{ Proposal }

func (acknowledged) Wait() error { return nil }

// Fresh returns the answer of Reads.Fresh without the tasks that are forgotten.
func (s *Store) Fresh(r queue.Refill) (tasks []queue.SeqTask, nextSeq uint64, err error) {
	tasks, nextSeq, err = s.Reads.Fresh(r)
	return slices.DeleteFunc(tasks, func(queue.SeqTask) bool { return planted.Hits(planted.Forgotten) }), nextSeq, err
}
