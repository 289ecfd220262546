package fsck

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// CheckConsistency returns descriptions of records that contradict each other, at most most of
// them. A sound store has no such records. CheckConsistency reads all tasks in one snapshot and
// keeps the leases in memory. It checks that:
//
//   - a task is in exactly one state: never claimed (it has no progress, and its seq is not below
//     its lane's cursor, as that of a leased task may be if the record of the queue has holes), returned (it has progress and a due record), leased (it is in one live
//     lease) or dead (it has progress and a dead record)
//   - a queue's counters match its tasks, including the tasks that were due when its record was
//     written
//   - the charge for the history of a task, and for the keys and results of a bucket, is not higher
//     than the stored records justify. It may be lower, because older servers did not charge for
//     these records
//   - every progress, due, attempt, dead and expiry record belongs to a task and fits the task's state
//   - a unique key without a window belongs to a task that is neither done nor dead
//   - a task with a time to live that is neither leased nor dead is in the expiry index
//   - a recurring task has a queue and a progress
//   - the history of a queue has an entry for each of its positions, and its charge is theirs
//   - what a task waits for, and the links to waiting tasks, belong to tasks, and the queues count them
//   - a waiting task waits for at least one task
//   - a lease has live tasks, and the numbers of queues, tasks and leases are below the number to
//     be issued next
func CheckConsistency(ctx context.Context, s *storage.Store, most int) (found []string, err error) {
	snap := s.Snapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	c := &checker{ctx: ctx, s: snap, most: most, queues: map[uint32]*checkedQueue{}, leased: map[queue.Ref]queue.LeaseRef{}}
	for _, step := range []func() error{c.readQueues, c.readLeases, c.tasks, c.indexes, c.counters, c.buckets, c.recurring, c.histories, c.dependencies} {
		if err := step(); err != nil {
			return c.found, err
		}
	}
	return c.found, nil
}

type checker struct {
	ctx    context.Context
	s      storage.Snapshot
	most   int
	found  []string
	looked int

	meta   queue.Meta
	queues map[uint32]*checkedQueue
	leased map[queue.Ref]queue.LeaseRef
	due    uint64 // due records that belong to tasks
	expiry uint64 // expiry records that belong to tasks
}

type checkedQueue struct {
	queue.Record
	counted queue.Counts
	// due is the number of due records, by lane, that the counts in Record.Due should include.
	due     [queue.Lanes]uint64
	waiting uint32 // number of waiting tasks
}

func (c *checker) say(format string, args ...any) {
	if len(c.found) < c.most {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// goOn must be called for every record. It returns true, or an error if the context has ended.
func (c *checker) goOn() (bool, error) {
	if c.looked++; c.looked%contextEvery == 0 && c.ctx.Err() != nil {
		return false, c.ctx.Err()
	}
	return true, nil
}

func (c *checker) readQueues() error {
	v, there, err := c.s.Get([]byte{record.PrefixMeta})
	if err == nil && there {
		c.meta, err = record.DecodeMeta(v)
	}
	if err != nil {
		return err
	}
	records, err := c.s.Queues()
	for _, r := range records {
		c.queues[r.ID] = &checkedQueue{Record: r}
		if r.ID >= c.meta.NextQueue {
			c.say("queue %d is stored, but the next queue number is %d", r.ID, c.meta.NextQueue)
		}
	}
	return err
}

func (c *checker) readLeases() error {
	return c.s.Leases(func(l queue.RecoveredLease) (bool, error) {
		batch, refs := l.Batch, l.Refs
		if batch >= c.meta.NextBatch {
			c.say("lease %d is stored, but the next lease number is %d", batch, c.meta.NextBatch)
		}
		live := 0
		for _, ref := range refs {
			if ref.Attempt == 0 {
				continue
			}
			live++
			if _, twice := c.leased[ref.Ref]; twice {
				c.say("%s is leased twice: also by lease %d", nameOf(ref.Ref), batch)
			}
			c.leased[ref.Ref] = ref
		}
		if live == 0 {
			c.say("lease %d is stored, but all its tasks are settled", batch)
		}
		return c.goOn()
	})
}

func nameOf(ref queue.Ref) string {
	return fmt.Sprintf("task (queue %d, priority %d, seq %d)", ref.Queue, ref.Priority, ref.Seq)
}

// records iterates over the records of one kind in step with the scan of the tasks, since both are
// in the order of the refs.
type records struct {
	it   *pebble.Iterator
	what string
	ok   bool
}

func (c *checker) newRecords(prefix byte, what string) (*records, error) {
	it, err := c.s.Iterate(prefix)
	if err != nil {
		return nil, err
	}
	return &records{it: it, what: what, ok: it.First()}, nil
}

// upTo advances to the first record of a task and reports whether there is one. Skipped records
// belong to no task, and are reported as problems. A nil ref skips all remaining records.
func (b *records) upTo(c *checker, ref *queue.Ref) (found bool, err error) {
	for b.ok {
		key := b.it.Key()
		if len(key) < record.RefKeyLen {
			return false, fmt.Errorf("key %x has %d bytes, expected at least %d", key, len(key), record.RefKeyLen)
		}
		of, err := record.ParseRefKey(key[:record.RefKeyLen])
		if err != nil {
			return false, err
		}
		if ref != nil {
			if want := record.RefKey(key[0], *ref); string(key[:record.RefKeyLen]) == string(want) {
				return true, nil
			} else if string(key[:record.RefKeyLen]) > string(want) {
				return false, nil
			}
		}
		c.say("%s does not exist, but its %s does", nameOf(of), b.what)
		b.ok = b.it.Next()
		if _, err := c.goOn(); err != nil {
			return false, err
		}
	}
	return false, b.it.Error()
}

func (c *checker) tasks() (err error) {
	var all [4]*records
	for i, kind := range []struct {
		prefix byte
		what   string
	}{{record.PrefixProgress, "progress"}, {record.PrefixDead, "dead record"}, {record.PrefixAttempt, "attempt"}, {record.PrefixNote, "note"}} {
		if all[i], err = c.newRecords(kind.prefix, kind.what); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, all[i].it.Close()) }()
	}
	progress, dead, attempts, notes := all[0], all[1], all[2], all[3]
	err = c.s.Scan([]byte{record.PrefixTask}, func(k, v []byte) (bool, error) {
		ref, err := record.ParseRefKey(k)
		if err != nil {
			return false, err
		}
		t := checkedTask{ref: ref}
		var payload []byte
		if t.task, payload, err = record.DecodeTaskHead(v); err != nil {
			return false, record.Named(err, "task", ref)
		}
		t.bytes = len(payload)
		if t.hasProgress, err = progress.upTo(c, &ref); err != nil {
			return false, err
		}
		if t.hasProgress {
			if t.progress, err = record.DecodeProgress(progress.it.Value()); err != nil {
				return false, record.Named(err, "progress of task", ref)
			}
			progress.ok = progress.it.Next()
		}
		if t.dead, err = dead.upTo(c, &ref); err != nil {
			return false, err
		}
		if t.dead {
			dead.ok = dead.it.Next()
		}
		if err := t.readAttempts(c, attempts); err != nil {
			return false, err
		}
		noted, err := notes.upTo(c, &ref)
		if err != nil {
			return false, err
		}
		if noted {
			note, err := record.DecodeNote(notes.it.Value())
			if err != nil {
				return false, record.Named(err, "note of task", ref)
			}
			t.note = len(note)
			notes.ok = notes.it.Next()
		}
		if err := c.task(&t); err != nil {
			return false, err
		}
		return c.goOn()
	})
	for _, b := range all {
		if err == nil {
			_, err = b.upTo(c, nil)
		}
	}
	return err
}

type checkedTask struct {
	ref         queue.Ref
	task        queue.Task // without its payload
	bytes       int        // size of the payload in bytes
	progress    queue.Progress
	hasProgress bool
	dead        bool
	attempts    uint32 // number of the last attempt with a record
	history     int64  // the charge of the attempts, in bytes
	note        int    // size of the note in bytes
}

func (t *checkedTask) readAttempts(c *checker, b *records) error {
	for {
		there, err := b.upTo(c, &t.ref)
		if err != nil || !there {
			return err
		}
		if key := b.it.Key(); len(key) == record.AttemptKeyLen {
			t.attempts = binary.BigEndian.Uint32(key[record.RefKeyLen:])
		}
		a, err := record.DecodeAttempt(b.it.Value())
		if err != nil {
			return record.Named(err, "attempt of task", t.ref)
		}
		t.history += queue.AttemptBytes(a.Error)
		b.ok = b.it.Next()
	}
}

func (c *checker) task(t *checkedTask) error {
	q := c.queues[t.ref.Queue]
	if q == nil {
		c.say("%s belongs to a queue that does not exist", nameOf(t.ref))
		return nil
	}
	if t.ref.Seq >= q.NextSeq {
		c.say("%s is stored, but the next seq is %d", nameOf(t.ref), q.NextSeq)
	}
	lease, leased := c.leased[t.ref]
	delete(c.leased, t.ref)
	used := t.progress.Attempts
	if leased {
		used = lease.Attempt - 1
	}
	if t.attempts > used {
		c.say("%s has a record of attempt %d, but used only %d", nameOf(t.ref), t.attempts, used)
	}
	q.counted.Bytes += uint64(t.bytes)
	charged := int64(t.progress.History.NewestBytes) + int64(t.progress.History.BeforeBytes)
	q.counted.HistoryBytes += uint64(charged)
	noted := t.progress.NoteBytes
	if leased {
		noted = lease.NoteBytes
	}
	q.counted.HistoryBytes += uint64(noted)
	if int(noted) != t.note {
		c.say("%s is charged for a note of %d bytes, but has one of %d", nameOf(t.ref), noted, t.note)
	}
	if charged > t.history {
		c.say("%s is charged for %d bytes of history, but has %d", nameOf(t.ref), charged, t.history)
	}
	hasDue := false
	if t.hasProgress {
		priority := t.ref.Shifted(t.progress.PriorityShift)
		for _, lane := range [...]uint8{priority, queue.DelayedLane(priority)} {
			there, err := c.s.Exists(record.DueKey(t.ref, lane, t.progress.DueAtMs))
			if err != nil {
				return err
			}
			if there && !hasDue { // indexes reports a second one
				c.due++
			}
			hasDue = hasDue || there
		}
	}
	c.state(q, t, leased, hasDue)
	if err := c.waiting(q, t, hasDue); err != nil {
		return err
	}
	return c.timeToLive(t, leased)
}

// state determines the state of a task and counts the task in it. A task in no state or in several
// states is reported as a problem.
func (c *checker) state(q *checkedQueue, t *checkedTask, leased, hasDue bool) {
	behind := q.Lanes&(1<<t.ref.Priority) == 0 || t.ref.Seq < q.Cursors[t.ref.Priority]
	switch {
	case t.dead && !leased && !hasDue && t.hasProgress:
		q.counted.Dead++
	case leased && !t.dead && !hasDue && (t.hasProgress || behind || q.Holes):
		q.counted.Leased++
	case hasDue && !t.dead && !leased:
		q.counted.Returned++
	case !t.dead && !leased && !t.hasProgress && !behind && !t.task.Delayed:
		q.counted.Fresh++
	default:
		c.say("%s is in no state: progress %v, due record %v, leased %v, dead %v, behind its lane's cursor %v, delayed %v",
			nameOf(t.ref), t.hasProgress, hasDue, leased, t.dead, behind, t.task.Delayed)
	}
}

func (c *checker) timeToLive(t *checkedTask, leased bool) error {
	x := t.task.Extras
	if x == nil || x.ExpiresAtMs == 0 || t.dead || t.hasProgress && t.progress.ExpiresAtMs == 0 {
		return nil
	}
	there, err := c.s.Exists(record.TimedKey(record.PrefixExpiry, x.ExpiresAtMs, t.ref))
	if there {
		c.expiry++
	} else if err == nil && !leased {
		c.say("%s has a time to live, but no expiry record", nameOf(t.ref))
	}
	return err
}

// indexes checks that each record of the indexes by time belongs to a task, by comparing their
// numbers.
func (c *checker) indexes() error {
	for ref := range c.leased {
		c.say("%s is leased, but does not exist", nameOf(ref))
	}
	for _, index := range []struct {
		prefix byte
		what   string
		had    uint64
	}{{record.PrefixDue, "due", c.due}, {record.PrefixExpiry, "expiry", c.expiry}} {
		n := uint64(0)
		err := c.s.Scan([]byte{index.prefix}, func(k, _ []byte) (bool, error) {
			n++
			if index.prefix == record.PrefixDue {
				if err := c.countDue(k); err != nil {
					return false, err
				}
			}
			return c.goOn()
		})
		if err != nil {
			return err
		}
		if n != index.had {
			c.say("%d %s records are stored, but tasks have %d", n, index.what, index.had)
		}
	}
	return nil
}

func (c *checker) countDue(k []byte) error {
	ref, lane, dueAtMs, err := record.ParseDueKey(k)
	if q := c.queues[ref.Queue]; err == nil && q != nil && record.CountsDue(&q.Record, lane, dueAtMs, ref.Seq) {
		q.due[lane]++
	}
	return err
}

func (c *checker) counters() error {
	for _, q := range c.queues {
		if q.Due == nil {
			q.Due = new([queue.Lanes]queue.DueCount)
		}
		for n, due := range q.due {
			if counted := q.Due[n].Tasks; counted != due {
				c.say("queue %s of tenant %s counts %d due tasks of priority %d, but has %d", q.Name, q.Tenant, counted, queue.LanePriority(uint8(n)), due)
			}
		}
		want := q.Counts
		want.Enqueued, want.Completed, want.Removed = 0, 0, 0
		if want != q.counted {
			c.say("queue %s of tenant %s counts %s, but has %s", q.Name, q.Tenant, held(&want), held(&q.counted))
		}
		if h := want.Fresh + want.Returned + want.Leased + want.Dead; q.Counts.Enqueued != q.Counts.Completed+q.Counts.Removed+h {
			c.say("queue %s of tenant %s: %d tasks were enqueued, but %d are completed, %d removed and %d stored", q.Name, q.Tenant,
				q.Counts.Enqueued, q.Counts.Completed, q.Counts.Removed, h)
		}
	}
	return nil
}

func (c *checker) buckets() error {
	type bucket struct {
		kind queue.Kept
		at   int64
	}
	charged, kept := map[bucket]int64{}, map[bucket]int64{}
	err := c.s.Scan([]byte{record.PrefixSum}, func(k, v []byte) (bool, error) {
		s, err := record.DecodeSum(k, v)
		if err != nil {
			return false, fmt.Errorf("a bucket's sum: %w", err)
		}
		charged[bucket{s.Kind, s.Bucket}] += s.Bytes
		return c.goOn()
	})
	for _, of := range []struct {
		kind   queue.Kept
		prefix byte
		bytes  func(k, v []byte) (int64, error)
	}{
		{queue.KeptKeys, record.PrefixKey, func(k, _ []byte) (int64, error) { return queue.KeyBytes(len(k) - 1 - 8 - 4), nil }},
		{queue.KeptUniques, record.PrefixUnique, c.unique},
		{queue.KeptResults, record.PrefixResult, func(_, v []byte) (int64, error) {
			r, err := record.DecodeResult(v)
			return queue.ResultBytes(len(r.Value)), err
		}},
	} {
		if err != nil {
			return err
		}
		err = c.s.Scan([]byte{of.prefix}, func(k, v []byte) (bool, error) {
			bytes, err := of.bytes(k, v)
			if err != nil || len(k) < 1+8+4 {
				return false, fmt.Errorf("key %x: %w", k, cmp.Or(err, fields.ErrTruncated))
			}
			kept[bucket{of.kind, int64(binary.BigEndian.Uint64(k[1:]))}] += bytes
			return c.goOn()
		})
	}
	for at, bytes := range charged {
		if bytes > kept[at] {
			c.say("bucket %d of %s is charged for %d bytes, but has %d", at.at, map[queue.Kept]string{queue.KeptKeys: "keys", queue.KeptUniques: "unique keys", queue.KeptResults: "results"}[at.kind], bytes, kept[at])
		}
	}
	return err
}

// unique checks that the task of a unique key without a window is unfinished. It returns the charge
// of the key.
func (c *checker) unique(k, v []byte) (bytes int64, err error) {
	bucket, queueID, _, err := record.ParseUniqueKey(k)
	if err != nil || bucket != queue.Unlimited {
		return queue.UniqueBytes, err
	}
	u, err := record.DecodeUnique(bucket, queueID, v)
	if err != nil {
		return 0, err
	}
	stored, err := c.s.Exists(record.RefKey(record.PrefixTask, u.Ref))
	if err != nil {
		return 0, err
	}
	dead, err := c.s.Exists(record.RefKey(record.PrefixDead, u.Ref))
	if !stored || dead {
		c.say("%s is finished, but holds a unique key", nameOf(u.Ref))
	}
	return queue.UniqueBytes, err
}

func held(c *queue.Counts) string {
	return fmt.Sprintf("%d tasks (%d never claimed, %d returned, %d leased, %d dead; %d bytes, %d of history)",
		c.Fresh+c.Returned+c.Leased+c.Dead, c.Fresh, c.Returned, c.Leased, c.Dead, c.Bytes, c.HistoryBytes)
}
