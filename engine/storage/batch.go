package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
)

// Batch is the mutations of one commit: it is the queue.Journal that a shard's decisions are
// written to. One goroutine owns it until it is committed.
type Batch struct {
	store *Store
	b     *pebble.Batch
	enc   encoder
	key   [dueKeyLen]byte
	err   error // the first one; Commit returns it
}

var _ queue.Journal = (*Batch)(nil)

// Reset begins a new batch. What was written to b before and not committed is dropped.
func (b *Batch) Reset() {
	if b.b != nil {
		b.note(b.b.Close())
	}
	b.b = b.store.db.NewBatch()
}

// Empty says whether nothing was written since Reset.
func (b *Batch) Empty() bool { return b.b.Empty() }

// Commit is a batch on its way to the log: Wait says when it is durable.
type Commit struct{ b *pebble.Batch }

// Submit applies the batch: from here on reads see it, and later batches come after it. Commit.Wait
// must be called for each. The batch is empty afterwards.
func (b *Batch) Submit() (Commit, error) {
	if b.err != nil {
		return Commit{}, b.err
	}
	c := Commit{b.b}
	b.b = b.store.db.NewBatch()
	return c, b.store.apply(c.b)
}

// apply turns Pebble's panic, which is how it answers a write after one to the log failed, into an error.
// The store can't be used afterwards, nor closed.
func (s *Store) apply(b *pebble.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write to the log: %v", p)
		}
	}()
	return s.db.ApplyNoSyncWait(b, pebble.Sync)
}

// Wait returns when the commit is as durable as the store's mode says.
func (c Commit) Wait() error {
	if err := c.b.SyncWait(); err != nil {
		return err
	}
	return c.b.Close()
}

func (b *Batch) note(err error) {
	if err != nil && b.err == nil {
		b.err = err
	}
}

func (b *Batch) refKey(prefix byte, ref queue.Ref) []byte {
	putRefKey(b.key[:refKeyLen], prefix, ref)
	return b.key[:refKeyLen]
}

func (b *Batch) idKey(prefix byte, id uint64) []byte {
	putIDKey(b.key[:idKeyLen], prefix, id)
	return b.key[:idKeyLen]
}

func (b *Batch) dueKey(ref queue.Ref, dueAtMs int64) []byte {
	putDueKey(b.key[:], ref, dueAtMs)
	return b.key[:]
}

// PutTask implements queue.Journal.
func (b *Batch) PutTask(ref queue.Ref, t queue.Task) {
	encodeTask(&b.enc, t)
	b.set(b.refKey(prefixTask, ref))
}

// DropTask implements queue.Journal. The key was set exactly once, so a single delete is enough and
// both vanish when they meet.
func (b *Batch) DropTask(ref queue.Ref) {
	b.store.count.deletes.Add(1)
	b.note(b.b.SingleDelete(b.refKey(prefixTask, ref), nil))
}

// PutDue implements queue.Journal.
func (b *Batch) PutDue(ref queue.Ref, due queue.Due) {
	encodeDue(&b.enc, due)
	b.set(b.dueKey(ref, due.DueAtMs))
}

// DropDue implements queue.Journal.
func (b *Batch) DropDue(ref queue.Ref, dueAtMs int64) { b.delete(b.dueKey(ref, dueAtMs)) }

// PutProgress implements queue.Journal.
func (b *Batch) PutProgress(ref queue.Ref, p queue.Progress) {
	encodeProgress(&b.enc, p)
	b.set(b.refKey(prefixProgress, ref))
}

// DropProgress implements queue.Journal.
func (b *Batch) DropProgress(ref queue.Ref) { b.delete(b.refKey(prefixProgress, ref)) }

// PutLease implements queue.Journal.
func (b *Batch) PutLease(batch uint64, refs []queue.LeaseRef) {
	encodeLease(&b.enc, refs)
	b.set(b.idKey(prefixLease, batch))
}

// DropLease implements queue.Journal.
func (b *Batch) DropLease(batch uint64) { b.delete(b.idKey(prefixLease, batch)) }

// PutDead implements queue.Journal.
func (b *Batch) PutDead(ref queue.Ref, x queue.Dead) {
	encodeDead(&b.enc, x)
	b.set(b.refKey(prefixDead, ref))
}

// PutQueue implements queue.Journal.
func (b *Batch) PutQueue(r *queue.Record) {
	encodeQueue(&b.enc, r)
	b.set(queueKey(r.ID))
}

// PutMeta implements queue.Journal.
func (b *Batch) PutMeta(m queue.Meta) {
	encodeMeta(&b.enc, m)
	b.set([]byte{prefixMeta})
}

func (b *Batch) set(key []byte) {
	b.store.count.sets.Add(1)
	b.store.count.setBytes.Add(uint64(len(key) + len(b.enc.b)))
	b.note(b.b.Set(key, b.enc.b, nil))
}

func (b *Batch) delete(key []byte) {
	b.store.count.deletes.Add(1)
	b.note(b.b.Delete(key, nil))
}
