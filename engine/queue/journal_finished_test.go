package queue

import (
	"bytes"
	"slices"
)

func (j *mapJournal) PutFinished(position uint64, f *Finished) {
	of := j.finished[f.Ref.Queue]
	if of == nil {
		of = map[uint64]Finished{}
		j.finished[f.Ref.Queue] = of
	}
	if _, ok := of[position]; ok {
		j.broken("entry %d of queue %d is put twice", position, f.Ref.Queue)
	}
	of[position] = *f
}

func (j *mapJournal) DropFinished(queue uint32, first, before uint64) {
	for at := first; at < before; at++ {
		if _, ok := j.finished[queue][at]; !ok {
			j.broken("entry %d of queue %d is dropped and does not exist", at, queue)
		}
		delete(j.finished[queue], at)
	}
	if len(j.finished[queue]) == 0 {
		delete(j.finished, queue)
	}
}

func (j *mapJournal) FindHead(ref Ref) (int64, Headers) {
	t, ok := j.tasks[ref]
	if !ok {
		j.broken("the head of task %v is read, which does not exist", ref)
	}
	headers, _ := t.Split()
	return t.EnqueuedAtMs, bytes.Clone(headers)
}

func (j *mapJournal) FindClaims(ref Ref) Claims { return j.progress[ref].Claims }

func (j *mapJournal) FindError(ref Ref, attempt uint32) string { return j.attempts[ref][attempt].Error }

func (j *mapJournal) finishedSizes(r Refill) (out []FinishedSize) {
	of := j.finished[r.Queue]
	for at := r.FromSeq; len(out) < r.Limit; at++ {
		f, ok := of[at]
		if !ok {
			break
		}
		out = append(out, f.Size())
	}
	return slices.Clip(out)
}
