package queue

import (
	"cmp"
	"slices"
)

// dueEntry is the key of a Due record.
type dueEntry struct {
	ref     Ref
	dueAtMs int64
}

// mapJournal is a Journal that keeps the records in maps, answers refills from them, and gives
// what a store would recover. It calls broken when a mutation breaks the Journal's contract.
type mapJournal struct {
	broken func(format string, args ...any)

	tasks    map[Ref]Task
	ever     map[Ref]bool // refs that were ever put
	due      map[dueEntry]Due
	progress map[Ref]Progress
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

func (j *mapJournal) PutDead(ref Ref, d Dead) { j.dead[ref] = d }
func (j *mapJournal) PutQueue(r *Record)      { j.queues[r.ID] = *r }
func (j *mapJournal) PutMeta(m Meta)          { j.meta = m }

// answer reads what a refill asks for and hands it to the state.
func (j *mapJournal) answer(s *State, r Refill, now int64) {
	if r.Returned {
		s.RefillReturned(r, j.returned(r), now)
		return
	}
	s.RefillFresh(r, j.fresh(r))
}

func (j *mapJournal) fresh(r Refill) []SeqTask {
	var out []SeqTask
	for ref, t := range j.tasks {
		if ref.Queue == r.Queue && ref.Priority == r.Priority && ref.Seq >= r.FromSeq && !t.Delayed {
			out = append(out, SeqTask{ref.Seq, t})
		}
	}
	slices.SortFunc(out, func(a, b SeqTask) int { return cmp.Compare(a.Seq, b.Seq) })
	return out[:min(len(out), r.Limit)]
}

func (j *mapJournal) returned(r Refill) []SeqDue {
	from := returnedKey{r.FromDueMs, r.FromSeq}
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
