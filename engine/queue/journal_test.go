package queue

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// dueEntry is the key of a Due record.
type dueEntry struct {
	ref     Ref
	dueAtMs int64
}

// keyEntry and resultEntry are the keys of what is kept in buckets.
type keyEntry struct {
	bucket int64
	queue  uint32
	key    string
}

type resultEntry struct {
	bucket int64
	ref    Ref
}

// mapJournal is a Journal that keeps the records in maps, answers refills from them, and gives
// what a store would recover. It calls broken when a mutation breaks the Journal's contract.
type mapJournal struct {
	broken func(format string, args ...any)

	tasks    map[Ref]Task
	ever     map[Ref]bool // refs that were ever put
	due      map[dueEntry]Due
	progress map[Ref]Progress
	attempts map[Ref]map[uint32]Attempt
	expiries map[dueEntry]bool
	keys     map[keyEntry]KeyRef
	results  map[resultEntry]Result
	leases   map[uint64][]LeaseRef
	dead     map[Ref]Dead
	queues   map[uint32]Record
	meta     Meta
}

var _ Journal = (*mapJournal)(nil)

func newMapJournal(broken func(format string, args ...any)) *mapJournal {
	return &mapJournal{
		broken: broken,
		tasks:  map[Ref]Task{}, ever: map[Ref]bool{}, due: map[dueEntry]Due{}, progress: map[Ref]Progress{},
		attempts: map[Ref]map[uint32]Attempt{}, expiries: map[dueEntry]bool{}, keys: map[keyEntry]KeyRef{}, results: map[resultEntry]Result{},
		leases: map[uint64][]LeaseRef{}, dead: map[Ref]Dead{}, queues: map[uint32]Record{},
	}
}

func (j *mapJournal) PutTask(ref Ref, t Task) {
	if j.ever[ref] {
		j.broken("task %v is put twice", ref)
	}
	j.ever[ref] = true
	j.tasks[ref] = t
}

func (j *mapJournal) DropTask(ref Ref) {
	if _, ok := j.tasks[ref]; !ok {
		j.broken("task %v is dropped and was not there", ref)
	}
	delete(j.tasks, ref)
}

func (j *mapJournal) PutDue(ref Ref, due Due) { j.due[dueEntry{ref, due.DueAtMs}] = due }

func (j *mapJournal) DropDue(ref Ref, dueAtMs int64) {
	if _, ok := j.due[dueEntry{ref, dueAtMs}]; !ok {
		j.broken("due record %v at %d is dropped and was not there", ref, dueAtMs)
	}
	delete(j.due, dueEntry{ref, dueAtMs})
}

func (j *mapJournal) PutProgress(ref Ref, p Progress) { j.progress[ref] = p }

func (j *mapJournal) DropProgress(ref Ref) {
	if _, ok := j.progress[ref]; !ok {
		j.broken("progress %v is dropped and was not there", ref)
	}
	delete(j.progress, ref)
}

func (j *mapJournal) PutLease(batch uint64, refs []LeaseRef) { j.leases[batch] = slices.Clone(refs) }

func (j *mapJournal) DropLease(batch uint64) {
	if _, ok := j.leases[batch]; !ok {
		j.broken("lease batch %d is dropped and was not there", batch)
	}
	delete(j.leases, batch)
}

func (j *mapJournal) PutAttempt(ref Ref, n uint32, a Attempt) {
	if j.attempts[ref] == nil {
		j.attempts[ref] = map[uint32]Attempt{}
	}
	if _, ok := j.attempts[ref][n]; ok {
		j.broken("attempt %d of %v is put twice", n, ref)
	}
	j.attempts[ref][n] = a
}

func (j *mapJournal) DropAttempts(ref Ref, last uint32) {
	for n := uint32(1); n <= last; n++ {
		if _, ok := j.attempts[ref][n]; !ok {
			j.broken("attempt %d of %v is dropped and was not there", n, ref)
		}
		delete(j.attempts[ref], n)
	}
	if len(j.attempts[ref]) == 0 {
		delete(j.attempts, ref)
	}
}

func (j *mapJournal) PutExpiry(ref Ref, atMs int64)  { j.expiries[dueEntry{ref, atMs}] = true }
func (j *mapJournal) DropExpiry(ref Ref, atMs int64) { delete(j.expiries, dueEntry{ref, atMs}) }

func (j *mapJournal) PutKey(queue uint32, key string, bucket int64, k KeyRef) {
	j.keys[keyEntry{bucket, queue, key}] = k
}

func (j *mapJournal) DropKeys(bucket int64) {
	maps.DeleteFunc(j.keys, func(k keyEntry, _ KeyRef) bool { return k.bucket <= bucket })
}

func (j *mapJournal) FindKey(queue uint32, key string, buckets []int64) (k KeyRef, found bool) {
	for _, bucket := range buckets {
		if one, stored := j.keys[keyEntry{bucket, queue, key}]; stored && (!found || one.ExpiresAtMs > k.ExpiresAtMs) {
			k, found = one, true
		}
	}
	return k, found
}

func (j *mapJournal) PutResult(ref Ref, bucket int64, r Result) {
	j.results[resultEntry{bucket, ref}] = r
}

func (j *mapJournal) DropResults(bucket int64) {
	maps.DeleteFunc(j.results, func(k resultEntry, _ Result) bool { return k.bucket <= bucket })
}

func (j *mapJournal) DropDead(ref Ref) {
	if _, ok := j.dead[ref]; !ok {
		j.broken("dead record %v is dropped and was not there", ref)
	}
	delete(j.dead, ref)
}

func (j *mapJournal) PutDead(ref Ref, d Dead) { j.dead[ref] = d }
func (j *mapJournal) PutQueue(r *Record)      { j.queues[r.ID] = *r }
func (j *mapJournal) PutMeta(m Meta)          { j.meta = m }

// answer reads what a refill asks for and hands it to the state.
func (j *mapJournal) answer(s *State, r Refill) {
	switch r.Stream {
	case StreamReturned:
		s.RefillReturned(r, j.returned(r))
	case StreamFresh:
		s.RefillFresh(r, j.fresh(r))
	case StreamExpired:
		tasks, next := j.expired(r.FromMs, r.Limit)
		s.RefillExpired(r, tasks, next)
	}
}

// look is what a store has of a task.
func (j *mapJournal) look(ref Ref) (Stored, bool) {
	t, found := j.tasks[ref]
	if !found {
		return Stored{Ref: ref}, false
	}
	out := Stored{Ref: ref, Task: t, Bytes: uint32(len(t.Payload))}
	out.Progress, out.HasProgress = j.progress[ref]
	_, out.HasDue = j.due[dueEntry{ref, out.Progress.DueAtMs}]
	_, out.Dead = j.dead[ref]
	return out, true
}

func (j *mapJournal) expired(nowMs int64, limit int) (out []Expired, next int64) {
	all := slices.SortedFunc(maps.Keys(j.expiries), func(a, b dueEntry) int {
		return cmp.Or(cmp.Compare(a.dueAtMs, b.dueAtMs), cmp.Compare(a.ref.Queue, b.ref.Queue),
			cmp.Compare(a.ref.Priority, b.ref.Priority), cmp.Compare(a.ref.Seq, b.ref.Seq))
	})
	for _, e := range all {
		if e.dueAtMs > nowMs || len(out) >= limit {
			return out, e.dueAtMs
		}
		x := Expired{AtMs: e.dueAtMs}
		x.Stored, x.Found = j.look(e.ref)
		out = append(out, x)
	}
	return out, math.MaxInt64
}

func (j *mapJournal) fresh(r Refill) []SeqTask {
	var out []SeqTask
	for ref, t := range j.tasks {
		if ref.Queue == r.Queue && ref.Priority == r.Priority && ref.Seq >= r.FromSeq && !t.Delayed {
			if _, has := j.progress[ref]; has {
				continue
			}
			out = append(out, SeqTask{ref.Seq, t})
		}
	}
	slices.SortFunc(out, func(a, b SeqTask) int { return cmp.Compare(a.Seq, b.Seq) })
	return out[:min(len(out), r.Limit)]
}

func (j *mapJournal) returned(r Refill) []SeqDue {
	from := returnedKey{r.FromMs, r.FromSeq}
	var out []SeqDue
	for e, due := range j.due {
		key := returnedKey{e.dueAtMs, e.ref.Seq}
		if e.ref.Queue == r.Queue && e.ref.Priority == r.Priority && !key.less(from) {
			out = append(out, SeqDue{e.ref.Seq, due})
		}
	}
	slices.SortFunc(out, func(a, b SeqDue) int {
		return cmp.Or(cmp.Compare(a.Due.DueAtMs, b.Due.DueAtMs), cmp.Compare(a.Seq, b.Seq))
	})
	return out[:min(len(out), r.Limit)]
}

// recovered is what a store gives when it is opened again: settled refs of leases are void.
func (j *mapJournal) recovered() Recovered {
	out := Recovered{Meta: j.meta}
	_, out.NextExpiryMs = j.expired(0, 0)
	for k := range j.keys {
		out.KeyBuckets = append(out.KeyBuckets, k.bucket)
	}
	for k := range j.results {
		out.ResultBuckets = append(out.ResultBuckets, k.bucket)
	}
	slices.Sort(out.KeyBuckets)
	slices.Sort(out.ResultBuckets)
	out.KeyBuckets, out.ResultBuckets = slices.Compact(out.KeyBuckets), slices.Compact(out.ResultBuckets)
	for _, r := range j.queues {
		out.Queues = append(out.Queues, r)
	}
	slices.SortFunc(out.Queues, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	for batch, refs := range j.leases {
		refs = slices.Clone(refs)
		for i := range refs {
			_, stored := j.tasks[refs[i].Ref]
			p, settled := j.progress[refs[i].Ref]
			if !stored || settled && p.Token >= Token(batch, i) {
				refs[i].Attempt = 0
			}
		}
		out.Leases = append(out.Leases, RecoveredLease{Batch: batch, Refs: refs})
	}
	slices.SortFunc(out.Leases, func(a, b RecoveredLease) int { return cmp.Compare(a.Batch, b.Batch) })
	return out
}
