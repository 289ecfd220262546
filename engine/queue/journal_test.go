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
	lane    uint8
	dueAtMs int64
}

// expiryEntry is the key of a record in the index of times to live.
type expiryEntry struct {
	ref  Ref
	atMs int64
}

// laneOf identifies a lane of the shard.
type laneOf struct {
	queue  uint32
	number uint8
}

// keyEntry and resultEntry are the keys of the records in buckets.
type keyEntry struct {
	bucket int64
	queue  uint32
	key    string
}

type resultEntry struct {
	bucket int64
	ref    Ref
}

// recurringEntry is the key of the records of a recurring task.
type recurringEntry struct {
	queue uint32
	name  string
}

// mapJournal is a Journal that stores the records in maps, answers refills from them, and returns
// the contents that a store would recover. It calls broken when a mutation violates the Journal's
// contract.
type mapJournal struct {
	broken func(format string, args ...any)

	tasks map[Ref]Task
	ever  map[Ref]bool // all refs ever put
	due   map[dueEntry]Due
	// Of due, in order. PutDue and DropDue clear it.
	dueKeysOf map[laneOf][]returnedKey
	progress  map[Ref]Progress
	attempts  map[Ref]map[uint32]Attempt
	expiries  map[expiryEntry]bool
	keys      map[keyEntry]KeyRef
	uniques   map[uniqueEntry]UniqueRef
	noUniques int64 // the last dropped bucket of unique keys
	results   map[resultEntry]Result
	sums      map[Sum]int64 // Bytes is 0 in the key
	leases    map[uint64][]LeaseRef
	lastLease uint64           // the greatest batch ever put
	extended  map[uint64]int64 // by token
	notes     map[Ref]string
	dead      map[Ref]Dead
	queues    map[uint32]Record
	claimed   map[uint64]int64 // by lease batch
	finished  map[uint32]map[uint64]Finished
	recurring map[recurringEntry]Recurring
	meta      Meta
	reserved  Reserved
	dependencyRecords
}

var _ Journal = (*mapJournal)(nil)

func newMapJournal(broken func(format string, args ...any)) *mapJournal {
	return &mapJournal{
		broken: broken,
		tasks:  map[Ref]Task{}, ever: map[Ref]bool{}, due: map[dueEntry]Due{}, dueKeysOf: map[laneOf][]returnedKey{}, progress: map[Ref]Progress{},
		attempts: map[Ref]map[uint32]Attempt{}, expiries: map[expiryEntry]bool{}, keys: map[keyEntry]KeyRef{}, uniques: map[uniqueEntry]UniqueRef{}, results: map[resultEntry]Result{}, sums: map[Sum]int64{},
		leases: map[uint64][]LeaseRef{}, extended: map[uint64]int64{}, notes: map[Ref]string{}, dead: map[Ref]Dead{}, queues: map[uint32]Record{},
		recurring: map[recurringEntry]Recurring{}, claimed: map[uint64]int64{}, finished: map[uint32]map[uint64]Finished{},
		dependencyRecords: newDependencyRecords(),
	}
}

func (j *mapJournal) PutTask(ref Ref, t Task) {
	if j.ever[ref] {
		j.broken("task %v is put twice", ref)
	}
	j.ever[ref] = true
	j.tasks[ref] = t
}

func (j *mapJournal) ReplaceTask(ref Ref, t Task) {
	if _, ok := j.dead[ref]; !ok {
		j.broken("task %v is replaced and not dead", ref)
	}
	j.tasks[ref] = t
}

func (j *mapJournal) PutFresh(ref Ref, t Task) { j.PutTask(ref, t) }

func (j *mapJournal) DropTask(ref Ref) {
	if _, ok := j.tasks[ref]; !ok {
		j.broken("task %v is dropped and does not exist", ref)
	}
	delete(j.tasks, ref)
}

func (j *mapJournal) PutDue(ref Ref, lane uint8, due Due) {
	j.due[dueEntry{ref, lane, due.DueAtMs}] = due
	clear(j.dueKeysOf)
}

func (j *mapJournal) DropDue(ref Ref, lane uint8, dueAtMs int64) {
	key := dueEntry{ref, lane, dueAtMs}
	if _, ok := j.due[key]; !ok {
		j.broken("due record %v is dropped and does not exist", key)
	}
	delete(j.due, key)
	clear(j.dueKeysOf)
}

func (j *mapJournal) PutProgress(ref Ref, p Progress) { j.progress[ref] = p }

func (j *mapJournal) DropProgress(ref Ref) {
	if _, ok := j.progress[ref]; !ok {
		j.broken("progress %v is dropped and does not exist", ref)
	}
	delete(j.progress, ref)
}

func (j *mapJournal) PutLease(batch uint64, refs []LeaseRef, claimedMs int64) {
	if batch <= j.lastLease {
		j.broken("lease batch %d is put after batch %d", batch, j.lastLease)
	}
	j.lastLease = batch
	j.setLease(batch, refs)
	if claimedMs > 0 {
		j.claimed[batch] = claimedMs
	}
}

func (j *mapJournal) ReplaceLease(batch uint64, refs []LeaseRef, claimedMs int64) {
	if _, ok := j.leases[batch]; !ok {
		j.broken("lease batch %d is replaced and does not exist", batch)
	}
	if j.claimed[batch] != claimedMs {
		j.broken("lease batch %d was claimed at %d, and not at %d", batch, j.claimed[batch], claimedMs)
	}
	j.setLease(batch, refs)
}

func (j *mapJournal) setLease(batch uint64, refs []LeaseRef) {
	refs = slices.Clone(refs)
	for i := range refs {
		// A store reads them from the progress and the note.
		refs[i].History, refs[i].PriorityShift, refs[i].NoteBytes = History{}, 0, 0
	}
	j.leases[batch] = refs
}

func (j *mapJournal) DropLease(batch uint64) {
	if _, ok := j.leases[batch]; !ok {
		j.broken("lease batch %d is dropped and does not exist", batch)
	}
	delete(j.leases, batch)
	delete(j.claimed, batch)
}

func (j *mapJournal) PutExtension(batch uint64, i int, untilMs int64) {
	if i >= len(j.leases[batch]) {
		j.broken("extension %d of lease batch %d of %d tasks", i, batch, len(j.leases[batch]))
	}
	j.extended[Token(batch, i)] = untilMs
}

func (j *mapJournal) DropExtension(batch uint64, i int) {
	if _, ok := j.extended[Token(batch, i)]; !ok {
		j.broken("extension %d of lease batch %d is dropped and does not exist", i, batch)
	}
	delete(j.extended, Token(batch, i))
}

func (j *mapJournal) PutNote(ref Ref, note string) { j.notes[ref] = note }

func (j *mapJournal) DropNote(ref Ref) {
	if _, ok := j.notes[ref]; !ok {
		j.broken("the note of %v is dropped and does not exist", ref)
	}
	delete(j.notes, ref)
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

func (j *mapJournal) DropAttempts(ref Ref, first, last uint32) {
	for n := first; n <= last; n++ {
		delete(j.attempts[ref], n)
	}
	if len(j.attempts[ref]) == 0 {
		delete(j.attempts, ref)
	}
}

func (j *mapJournal) PutExpiry(ref Ref, atMs int64)  { j.expiries[expiryEntry{ref, atMs}] = true }
func (j *mapJournal) DropExpiry(ref Ref, atMs int64) { delete(j.expiries, expiryEntry{ref, atMs}) }

func (j *mapJournal) PutKey(queue uint32, key string, bucket int64, k KeyRef) {
	j.keys[keyEntry{bucket, queue, key}] = k
}

func (j *mapJournal) DropKeys(bucket int64) {
	maps.DeleteFunc(j.keys, func(k keyEntry, _ KeyRef) bool { return k.bucket <= bucket })
	j.dropSums(KeptKeys, bucket)
}

func (j *mapJournal) dropSums(kind Kept, bucket int64) {
	maps.DeleteFunc(j.sums, func(s Sum, _ int64) bool { return s.Kind == kind && s.Bucket <= bucket })
}

func (j *mapJournal) PutSum(s Sum) {
	bytes := s.Bytes
	s.Bytes = 0
	if bytes == 0 {
		delete(j.sums, s)
		return
	}
	j.sums[s] = bytes
}

func (j *mapJournal) HasKey(queue uint32, key string, bucket int64) bool {
	_, found := j.keys[keyEntry{bucket, queue, key}]
	return found
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
	j.dropSums(KeptResults, bucket)
}

func (j *mapJournal) DropDead(ref Ref) {
	if _, ok := j.dead[ref]; !ok {
		j.broken("dead record %v is dropped and does not exist", ref)
	}
	delete(j.dead, ref)
}

func (j *mapJournal) PutDead(ref Ref, d Dead) { j.dead[ref] = d }

func (j *mapJournal) PutQueue(r *Record) {
	stored := *r
	if r.Due != nil {
		due := *r.Due
		stored.Due = &due
	}
	j.queues[r.ID] = stored
}

func (j *mapJournal) PutRecurring(queue uint32, name string, s *RecurringSpec) {
	key := recurringEntry{queue, name}
	r := j.recurring[key]
	r.Queue, r.Name, r.Spec = queue, name, *s
	j.recurring[key] = r
}

func (j *mapJournal) PutRecurringProgress(queue uint32, name string, p *RecurringProgress) {
	key := recurringEntry{queue, name}
	r, found := j.recurring[key]
	if !found {
		j.broken("the progress of recurring task %v is put, which does not exist", key)
	}
	r.Progress = *p
	j.recurring[key] = r
}

func (j *mapJournal) DropRecurring(queue uint32, name string) {
	key := recurringEntry{queue, name}
	if _, found := j.recurring[key]; !found {
		j.broken("recurring task %v is dropped and does not exist", key)
	}
	delete(j.recurring, key)
}

func (j *mapJournal) DropQueue(id uint32)    { delete(j.queues, id) }
func (j *mapJournal) PutMeta(m Meta)         { j.meta = m }
func (j *mapJournal) PutReserved(r Reserved) { j.reserved = r }

// answer reads the records that a refill requests and passes them to the state.
func (j *mapJournal) answer(s *State, r Refill) { j.read(s, r)() }

// read reads the records that a refill requests, and returns a function that passes them to the
// state.
func (j *mapJournal) read(s *State, r Refill) (answer func()) {
	switch r.Stream {
	case StreamReturned:
		due, more := j.returned(r)
		return func() { s.RefillReturned(r, due, more) }
	case StreamFresh:
		tasks, next := j.fresh(r)
		return func() { s.RefillFresh(r, tasks, next) }
	case StreamDue, StreamNotDue:
		keys, at, more := j.countDue(r)
		return func() { s.RefillDue(r, keys, DueKey{at.dueAtMs, at.seq}, more) }
	case StreamFinished:
		sizes := j.finishedSizes(r)
		return func() { s.RefillFinished(r, sizes) }
	case StreamExpired:
		tasks, next := j.expired(r.FromMs, r.Limit, r.BytesMax)
		return func() { s.RefillExpired(r, tasks, next) }
	}
	panic("unreachable")
}

// look returns the records of a task, as a store would.
func (j *mapJournal) look(ref Ref) (Stored, bool) {
	t, found := j.tasks[ref]
	if !found {
		return Stored{Ref: ref}, false
	}
	out := Stored{Ref: ref, Task: t, Bytes: uint32(len(t.Payload))}
	out.Progress, out.HasProgress = j.progress[ref]
	for _, lane := range []uint8{out.Priority(), DelayedLane(out.Priority())} {
		if _, found := j.due[dueEntry{ref, lane, out.Progress.DueAtMs}]; found {
			out.HasDue, out.Lane = true, lane
		}
	}
	_, out.Dead = j.dead[ref]
	out.Waiting = j.waiting[ref]
	return out, true
}

func (j *mapJournal) expired(nowMs int64, limit int, bytesMax int64) (out []Expired, next int64) {
	all := slices.SortedFunc(maps.Keys(j.expiries), func(a, b expiryEntry) int {
		return cmp.Or(cmp.Compare(a.atMs, b.atMs), cmp.Compare(a.ref.Queue, b.ref.Queue),
			cmp.Compare(a.ref.Priority, b.ref.Priority), cmp.Compare(a.ref.Seq, b.ref.Seq))
	})
	bytes := int64(0)
	for _, e := range all {
		if e.atMs > nowMs || len(out) >= limit || bytesMax > 0 && bytes >= bytesMax {
			return out, e.atMs
		}
		x := Expired{AtMs: e.atMs}
		x.Stored, x.Found = j.look(e.ref)
		x.Task.Payload = nil
		bytes += int64(x.Bytes)
		out = append(out, x)
	}
	return out, math.MaxInt64
}

// fresh counts only payloads as read bytes, including those of skipped tasks.
func (j *mapJournal) fresh(r Refill) (out []SeqTask, nextSeq uint64) {
	var all []Ref
	for ref := range j.tasks {
		if ref.Queue == r.Queue && ref.Priority == r.Lane && ref.Seq >= r.FromSeq && ref.Seq < r.UntilSeq {
			all = append(all, ref)
		}
	}
	slices.SortFunc(all, func(a, b Ref) int { return cmp.Compare(a.Seq, b.Seq) })
	bytes, kept := int64(0), int64(0)
	for i, ref := range all {
		t := j.tasks[ref]
		n := int64(len(t.Payload))
		bytes += n
		if _, has := j.progress[ref]; !has && !t.Delayed {
			if kept+n > r.PayloadBytesMax {
				t.Payload = nil
			} else {
				kept += n
			}
			out = append(out, SeqTask{ref.Seq, t, uint32(n)})
		}
		if len(out) >= r.Limit || r.BytesMax > 0 && bytes >= r.BytesMax || r.LookMax > 0 && i+1 >= r.LookMax {
			return out, ref.Seq + 1
		}
	}
	return out, math.MaxUint64
}

func (j *mapJournal) returned(r Refill) (out []SeqDue, more bool) {
	from := returnedKey{r.FromMs, r.FromSeq}
	for e, due := range j.due {
		key := returnedKey{e.dueAtMs, e.ref.Seq}
		if e.ref.Queue == r.Queue && e.lane == r.Lane && !key.less(from) {
			out = append(out, SeqDue{e.ref.Seq, due})
		}
	}
	slices.SortFunc(out, func(a, b SeqDue) int {
		return cmp.Or(cmp.Compare(a.Due.DueAtMs, b.Due.DueAtMs), cmp.Compare(a.Seq, b.Seq))
	})
	if len(out) >= r.Limit {
		return out[:r.Limit], true
	}
	return out, false
}

// dueKeys returns the places of a lane's Due records, in order.
func (j *mapJournal) dueKeys(lane laneOf) []returnedKey {
	keys, known := j.dueKeysOf[lane]
	if known {
		return keys
	}
	for e := range j.due {
		if e.ref.Queue == lane.queue && e.lane == lane.number {
			keys = append(keys, returnedKey{e.dueAtMs, e.ref.Seq})
		}
	}
	slices.SortFunc(keys, func(a, b returnedKey) int {
		return cmp.Or(cmp.Compare(a.dueAtMs, b.dueAtMs), cmp.Compare(a.seq, b.seq))
	})
	j.dueKeysOf[lane] = keys
	return keys
}

func (j *mapJournal) countDue(r Refill) (out []DueKey, at returnedKey, more bool) {
	keys, from := j.dueKeys(laneOf{r.Queue, r.Lane}), returnedKey{r.FromMs, r.FromSeq}
	if r.Stream == StreamDue {
		at = dueNone
		for _, k := range keys {
			switch {
			case k.less(from):
			case k.dueAtMs > r.UntilMs:
				return out, k, false
			case len(out) >= r.Limit:
				return out, k, true
			default:
				out = append(out, DueKey{k.dueAtMs, k.seq})
			}
		}
		return out, at, false
	}
	at = from
	for _, k := range slices.Backward(keys) {
		if k.less(from) && k.dueAtMs > r.UntilMs {
			if len(out) >= r.Limit {
				return out, at, true
			}
			out, at = append(out, DueKey{k.dueAtMs, k.seq}), k
		}
	}
	return out, at, false
}

// recovered returns the contents that a store would recover. It sets Attempt to 0 in settled refs
// of leases.
func (j *mapJournal) recovered() Recovered {
	out := Recovered{Meta: j.meta, Reserved: j.reserved, Outgoing: j.outgoing()}
	_, out.NextExpiryMs = j.expired(0, 0, 0)
	for k := range j.keys {
		out.KeyBuckets = append(out.KeyBuckets, k.bucket)
	}
	for k := range j.uniques {
		out.UniqueBuckets = append(out.UniqueBuckets, k.bucket)
	}
	for k := range j.results {
		out.ResultBuckets = append(out.ResultBuckets, k.bucket)
	}
	for _, buckets := range []*[]int64{&out.KeyBuckets, &out.UniqueBuckets, &out.ResultBuckets} {
		slices.Sort(*buckets)
		*buckets = slices.Compact(*buckets)
	}
	for s, bytes := range j.sums {
		s.Bytes = bytes
		out.Sums = append(out.Sums, s)
	}
	for _, r := range j.queues {
		out.Queues = append(out.Queues, r)
	}
	slices.SortFunc(out.Queues, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range j.recurring {
		_, stored := j.tasks[r.Progress.Last]
		_, died := j.dead[r.Progress.Last]
		out.Recurring = append(out.Recurring, RecoveredRecurring{Recurring: r, Unfinished: r.Progress.Runs > 0 && stored && !died})
	}
	slices.SortFunc(out.Recurring, func(a, b RecoveredRecurring) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
	})
	for batch, refs := range j.leases {
		refs = slices.Clone(refs)
		var extended []int
		for i := range refs {
			if until, is := j.extended[Token(batch, i)]; is {
				refs[i].ExpiresAtMs = until
				extended = append(extended, i)
			}
			_, stored := j.tasks[refs[i].Ref]
			p, settled := j.progress[refs[i].Ref]
			if !stored || settled && p.Token >= Token(batch, i) {
				refs[i].Attempt = 0
			}
			refs[i].History, refs[i].PriorityShift, refs[i].NoteBytes = p.History, p.PriorityShift, uint16(len(j.notes[refs[i].Ref]))
		}
		out.Leases = append(out.Leases, RecoveredLease{Batch: batch, Refs: refs, ClaimedMs: j.claimed[batch], Extended: extended})
	}
	slices.SortFunc(out.Leases, func(a, b RecoveredLease) int { return cmp.Compare(a.Batch, b.Batch) })
	return out
}
