package storage

import (
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// Batch collects the mutations of one commit. It is the queue.Journal that records a shard's
// decisions. One goroutine owns it until it is committed.
type Batch struct {
	store *Store
	b     *pebble.Batch
	enc   record.Encoder
	key   [record.DueKeyLen]byte
	// keys contains the idempotency keys that were put since the last Submit, by name. Reads do not
	// see them yet.
	keys map[string]keptKey
	// uniques is the same for unique keys, including dropped ones.
	uniques map[uniqueKey]uniqueChange
	// linked is the same for tasks that got links or lost all of them.
	linked map[queue.Ref]bool
	name   []byte  // name of an idempotency key, for reuse
	may    []int64 // buckets that may contain the key, for reuse
	err    error   // the first error; Submit returns it

	step    Step                  // the cause of the current writes
	written [stepCount]Operations // since the last Submit, which adds them to the store's counters

	// dropsKeys is the last key bucket that the commit drops; 0 means that it drops none.
	dropsKeys   int64
	changesKeys bool // the commit puts or drops idempotency keys

	reserves bool // the commit reserves numbers, so it must survive a power loss

	puts   young.Puts  // new records, which may stay in the log only
	again  young.Puts  // new values of existing records that may be in the log only
	drops  []youngDrop // records that may be in the log only
	stored []byte      // a key, for reuse

	log     Log       // receives the proposals of Submit; nil if the store is not replicated
	head    entryHead // head of the last proposed entry
	flights []flight  // proposals that change keys and may not be applied yet
}

var _ queue.Journal = (*Batch)(nil)

// Empty reports whether the batch has no mutation since the last Submit.
func (b *Batch) Empty() bool {
	return b.b.Empty() && b.puts.Len() == 0 && b.again.Len() == 0 && len(b.drops) == 0
}

// Commit is a submitted batch. Its Wait returns when the batch is durable.
type Commit struct {
	b        *pebble.Batch
	reserves *disk.Files // if not nil, Wait syncs the log of these files
	proposal Proposal    // nil if the store is not replicated
}

// Submit applies the batch, so that reads see it afterwards. In a replicated store Submit proposes
// the batch instead, and reads see it once Commit.Visible returns. Batches take effect in the order
// of their Submits. The caller must call Commit.Wait for each commit. The batch is empty
// afterwards.
func (b *Batch) Submit() (Commit, error) {
	if b.err != nil {
		return Commit{}, b.err
	}
	if b.log != nil {
		b.addUp()
		return b.propose()
	}
	c := Commit{b: b.b}
	if b.reserves {
		c.reserves, b.reserves = b.store.files, false
	}
	if err := b.store.commit(b); err != nil {
		return c, err
	}
	b.b = b.store.db.NewBatch()
	clear(b.keys)
	clear(b.uniques)
	clear(b.linked)
	if b.dropsKeys > 0 {
		b.store.filter.drop(b.dropsKeys)
		b.dropsKeys = 0
	}
	return c, nil
}

// addUp adds the operations of the batch to the store's counters. All batches and reads of a store
// share these counters, so one addition per commit costs less than one addition per key.
func (b *Batch) addUp() {
	for step := range b.written {
		b.store.by(Step(step)).written(&b.written[step])
	}
	b.written = [stepCount]Operations{}
}

func (s *Store) commit(b *Batch) error {
	if !s.replicated {
		return s.commitYoung(b)
	}
	b.addUp()
	return s.apply(b.b)
}

// Wait returns when the commit is as durable as the store's mode requires. A commit that reserves
// numbers survives a power loss in every mode.
func (c Commit) Wait() error {
	_, err := c.WaitParts()
	return err
}

// WaitParts waits like Wait, and returns how the time in Pebble is divided. It returns no parts for
// a replicated commit; see Applied.
func (c Commit) WaitParts() (parts stalls.Parts, err error) {
	if c.proposal != nil {
		return parts, c.proposal.Wait()
	}
	if err := c.b.SyncWait(); err != nil {
		return parts, err
	}
	if c.reserves != nil {
		if err := c.reserves.SyncLog(); err != nil {
			return parts, fmt.Errorf("make a reservation of numbers durable: %w", err)
		}
	}
	parts = stalls.PartsOf(c.b)
	return parts, c.b.Close()
}

// Applied returns the time from the proposal of a replicated commit until it was applied, and how
// this time is divided. It returns zeros if the log does not report them. Call it after Wait.
func (c Commit) Applied() (took time.Duration, parts stalls.Parts) {
	if p, timed := c.proposal.(interface {
		Took() (time.Duration, stalls.Parts)
	}); timed {
		return p.Took()
	}
	return 0, parts
}

func (b *Batch) note(err error) {
	if err != nil && b.err == nil {
		b.err = err
	}
}

func (b *Batch) refKey(prefix byte, ref queue.Ref) []byte {
	record.PutRefKey(b.key[:record.RefKeyLen], prefix, ref)
	return b.key[:record.RefKeyLen]
}

func (b *Batch) idKey(prefix byte, id uint64) []byte {
	record.PutIDKey(b.key[:record.IDKeyLen], prefix, id)
	return b.key[:record.IDKeyLen]
}

func (b *Batch) dueKey(ref queue.Ref, lane uint8, dueAtMs int64) []byte {
	record.PutDueKey(b.key[:], ref, lane, dueAtMs)
	return b.key[:]
}

// PutTask implements queue.Journal.
func (b *Batch) PutTask(ref queue.Ref, t queue.Task) {
	record.EncodeTask(&b.enc, t)
	b.set(b.refKey(record.PrefixTask, ref))
}

// PutFresh implements queue.Journal. If the young records have room, the commit writes the task to
// the log only. In a replicated store, Apply decides this.
func (b *Batch) PutFresh(ref queue.Ref, t queue.Task) {
	record.EncodeTask(&b.enc, t)
	if b.logsYoung() {
		b.encoded()
		b.puts.Add(taskKey(ref), b.enc.Bytes())
	} else {
		b.set(b.refKey(record.PrefixTask, ref))
	}
}

// ReplaceTask implements queue.Journal. It deletes the key before it sets it again: DropTask relies on
// a key that was set once since it was last deleted.
func (b *Batch) ReplaceTask(ref queue.Ref, t queue.Task) {
	record.EncodeTask(&b.enc, t)
	if b.logsYoung() {
		b.encoded()
		b.again.Add(taskKey(ref), b.enc.Bytes())
		return
	}
	b.delete(b.refKey(record.PrefixTask, ref))
	b.set(b.refKey(record.PrefixTask, ref))
}

func (b *Batch) logsYoung() bool { return !b.store.replicated }

// DropTask implements queue.Journal. The key was set at most once since it was last deleted, so a
// SingleDelete suffices: Pebble drops both the set and the delete when they meet in a flush or compaction.
func (b *Batch) DropTask(ref queue.Ref) {
	if b.logsYoung() {
		b.drops = append(b.drops, youngDrop{taskKey(ref), b.step})
		return
	}
	b.written[b.step].Deletes++
	b.note(b.b.SingleDelete(b.refKey(record.PrefixTask, ref), nil))
}

// PutDue implements queue.Journal.
func (b *Batch) PutDue(ref queue.Ref, lane uint8, due queue.Due) {
	record.EncodeDue(&b.enc, due)
	b.set(b.dueKey(ref, lane, due.DueAtMs))
}

// DropDue implements queue.Journal.
func (b *Batch) DropDue(ref queue.Ref, lane uint8, dueAtMs int64) {
	b.delete(b.dueKey(ref, lane, dueAtMs))
}

// PutProgress implements queue.Journal.
func (b *Batch) PutProgress(ref queue.Ref, p queue.Progress) {
	record.EncodeProgress(&b.enc, p)
	b.set(b.refKey(record.PrefixProgress, ref))
}

// DropProgress implements queue.Journal.
func (b *Batch) DropProgress(ref queue.Ref) { b.delete(b.refKey(record.PrefixProgress, ref)) }

// PutLease implements queue.Journal.
func (b *Batch) PutLease(batch uint64, refs []queue.LeaseRef, claimedMs int64) {
	record.EncodeLease(&b.enc, refs, claimedMs)
	if b.logsYoung() {
		b.encoded()
		b.puts.Add(leaseKey(batch), b.enc.Bytes())
	} else {
		b.set(b.idKey(record.PrefixLease, batch))
	}
}

// ReplaceLease implements queue.Journal. The lease is then stored under its key, not in the log
// only.
func (b *Batch) ReplaceLease(batch uint64, refs []queue.LeaseRef, claimedMs int64) {
	record.EncodeLease(&b.enc, refs, claimedMs)
	if b.logsYoung() {
		b.encoded()
		b.again.Add(leaseKey(batch), b.enc.Bytes())
	} else {
		b.set(b.idKey(record.PrefixLease, batch))
	}
}

// DropLease implements queue.Journal.
func (b *Batch) DropLease(batch uint64) {
	if b.logsYoung() {
		b.drops = append(b.drops, youngDrop{leaseKey(batch), b.step})
		return
	}
	b.delete(b.idKey(record.PrefixLease, batch))
}

// PutExtension implements queue.Journal.
func (b *Batch) PutExtension(batch uint64, i int, untilMs int64) {
	record.EncodeExtension(&b.enc, untilMs)
	b.set(record.ExtensionKey(batch, i))
}

// DropExtension implements queue.Journal.
func (b *Batch) DropExtension(batch uint64, i int) { b.delete(record.ExtensionKey(batch, i)) }

// PutDead implements queue.Journal.
func (b *Batch) PutDead(ref queue.Ref, x queue.Dead) {
	record.EncodeDead(&b.enc, x)
	b.set(b.refKey(record.PrefixDead, ref))
}

// PutQueue implements queue.Journal.
func (b *Batch) PutQueue(r *queue.Record) {
	record.EncodeQueue(&b.enc, r)
	if b.logsYoung() { // each commit that puts young records writes a queue's record
		b.enc.MarkYoung()
	}
	b.set(record.QueueKey(r.ID))
}

// DropQueue implements queue.Journal.
func (b *Batch) DropQueue(id uint32) { b.delete(record.QueueKey(id)) }

// PutMeta implements queue.Journal.
func (b *Batch) PutMeta(m queue.Meta) {
	record.EncodeMeta(&b.enc, m)
	b.set([]byte{record.PrefixMeta})
}

// PutReserved implements queue.Journal.
func (b *Batch) PutReserved(r queue.Reserved) {
	record.EncodeReserved(&b.enc, r)
	b.set([]byte{record.PrefixReserved})
	b.reserves = true
}

// DropDead implements queue.Journal.
func (b *Batch) DropDead(ref queue.Ref) { b.delete(b.refKey(record.PrefixDead, ref)) }

// PutAttempt implements queue.Journal.
func (b *Batch) PutAttempt(ref queue.Ref, attempt uint32, a queue.Attempt) {
	record.EncodeAttempt(&b.enc, a)
	b.set(record.AttemptKey(ref, attempt))
}

// attemptDeletesMax limits the number of attempts that DropAttempts deletes one by one. It deletes
// more attempts with a range tombstone, which costs less to write but slows down every later read.
const attemptDeletesMax = 16

// DropAttempts implements queue.Journal.
func (b *Batch) DropAttempts(ref queue.Ref, first, last uint32) {
	if last-first >= attemptDeletesMax {
		b.deleteRange(record.AttemptKey(ref, first), record.PrefixEnd(record.AttemptKey(ref, last)))
		return
	}
	for n := first; n <= last; n++ {
		b.delete(record.AttemptKey(ref, n))
	}
}

// PutNote implements queue.Journal.
func (b *Batch) PutNote(ref queue.Ref, note string) {
	record.EncodeNote(&b.enc, note)
	b.set(b.refKey(record.PrefixNote, ref))
}

// DropNote implements queue.Journal.
func (b *Batch) DropNote(ref queue.Ref) { b.delete(b.refKey(record.PrefixNote, ref)) }

// PutExpiry implements queue.Journal.
func (b *Batch) PutExpiry(ref queue.Ref, atMs int64) {
	record.EncodeExpiry(&b.enc)
	b.set(record.TimedKey(record.PrefixExpiry, atMs, ref))
}

// DropExpiry implements queue.Journal.
func (b *Batch) DropExpiry(ref queue.Ref, atMs int64) {
	b.delete(record.TimedKey(record.PrefixExpiry, atMs, ref))
}

// PutKey implements queue.Journal.
func (b *Batch) PutKey(queueID uint32, key string, bucket int64, k queue.KeyRef) {
	record.EncodeKey(&b.enc, k)
	b.set(record.KeyKey(bucket, queueID, key))
	if b.keys == nil {
		b.keys = map[string]keptKey{}
	}
	b.changesKeys = true
	if bucket <= b.dropsKeys {
		b.dropsKeys = 0 // the filter then retains all keys until the next drop
	}
	b.nameKey(queueID, key)
	b.store.filter.add(b.name, bucket)
	b.keys[string(b.name)] = keptKey{k, bucket}
}

func (b *Batch) nameKey(queueID uint32, key string) {
	b.name = record.AppendKeyName(b.name[:0], queueID, key)
}

type keptKey struct {
	queue.KeyRef
	bucket int64
}

// recentKey returns the key with the name b.name, if it was put and reads may not see it yet.
func (b *Batch) recentKey() (k keptKey, found bool) {
	if k, found := b.keys[string(b.name)]; found {
		return k, true
	}
	return b.inFlight()
}

// HasKey implements queue.Journal.
func (b *Batch) HasKey(queueID uint32, key string, bucket int64) bool {
	b.nameKey(queueID, key)
	if k, found := b.recentKey(); found && k.bucket == bucket {
		return true
	}
	b.store.by(b.step).gets.Add(1)
	found, err := exists(b.store.live(), record.KeyKey(bucket, queueID, key))
	b.note(err) // the commit then fails: without the answer, the tenant's charge could be wrong
	return found
}

// FindKey implements queue.Journal. Several buckets may contain a record of the key if the key was
// reused after Config.KeyWindowMs changed.
func (b *Batch) FindKey(queueID uint32, key string, buckets []int64) (k queue.KeyRef, found bool) {
	b.nameKey(queueID, key)
	count := &b.store.count
	if b.may = b.store.filter.candidates(b.may[:0], b.name, buckets); len(b.may) == 0 {
		count.keysNew.Add(1)
		return k, false
	}
	if k, found := b.recentKey(); found {
		count.keysFound.Add(1)
		return k.KeyRef, true
	}
	one, found, err := b.store.key(b.step, queueID, key, b.may)
	// An error makes the commit fail: if a key cannot be read, its task could be enqueued twice.
	b.note(err)
	if found {
		count.keysFound.Add(1)
	} else {
		count.keysInVain.Add(1)
	}
	return one, found
}

// DropKeys implements queue.Journal.
func (b *Batch) DropKeys(bucket int64) {
	b.dropsKeys, b.changesKeys = max(b.dropsKeys, bucket), true
	b.dropBuckets(record.PrefixKey, queue.KeptKeys, bucket)
}

// PutResult implements queue.Journal.
func (b *Batch) PutResult(ref queue.Ref, bucket int64, r queue.Result) {
	record.EncodeResult(&b.enc, r)
	b.set(record.TimedKey(record.PrefixResult, bucket, ref))
}

// DropResults implements queue.Journal.
func (b *Batch) DropResults(bucket int64) {
	b.dropBuckets(record.PrefixResult, queue.KeptResults, bucket)
}

func (b *Batch) dropBuckets(prefix byte, kind queue.Kept, last int64) {
	b.deleteRange([]byte{prefix}, record.PrefixEnd(record.TimePrefix(prefix, last)))
	b.deleteRange([]byte{record.PrefixSum, byte(kind)}, record.PrefixEnd(record.SumPrefix(kind, last)))
}

// PutSum implements queue.Journal.
func (b *Batch) PutSum(s queue.Sum) {
	if s.Bytes == 0 {
		b.delete(record.SumKey(s))
		return
	}
	record.EncodeSum(&b.enc, s)
	b.set(record.SumKey(s))
}

// PutSystem writes a system record of the node; a nil value removes it.
func (b *Batch) PutSystem(key string, value []byte) {
	b.head.system = true
	stored := append([]byte{record.PrefixSystem}, key...)
	if value == nil {
		b.delete(stored)
		return
	}
	record.EncodeSystem(&b.enc, value)
	b.set(stored)
}

func (b *Batch) deleteRange(from, to []byte) {
	b.written[b.step].Deletes++
	b.note(b.b.DeleteRange(from, to, nil))
}

func (b *Batch) set(key []byte) {
	o := b.encoded()
	o.Sets++
	o.SetBytes += uint64(len(key) + len(b.enc.Bytes()))
	b.note(b.b.Set(key, b.enc.Bytes(), nil))
}

func (b *Batch) delete(key []byte) {
	b.written[b.step].Deletes++
	b.note(b.b.Delete(key, nil))
}
