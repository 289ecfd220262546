package storage

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// PutFinished implements queue.Journal.
func (b *Batch) PutFinished(position uint64, f *queue.Finished) {
	record.EncodeFinished(&b.enc, f)
	b.set(record.FinishedKey(f.Ref.Queue, position))
}

// finishedDeletesMax is as attemptDeletesMax, for DropFinished.
const finishedDeletesMax = 16

// DropFinished implements queue.Journal.
func (b *Batch) DropFinished(queueID uint32, first, before uint64) {
	if before-first > finishedDeletesMax {
		b.deleteRange(record.FinishedKey(queueID, first), record.FinishedKey(queueID, before))
		return
	}
	for at := first; at < before; at++ {
		b.delete(record.FinishedKey(queueID, at))
	}
}

// FindHead implements queue.Journal. It does not find a task of an earlier commit that reads do not see
// yet. Such a task can only finish unclaimed, or while a commit takes longer than a lease.
func (b *Batch) FindHead(ref queue.Ref) (enqueuedAtMs int64, h queue.Headers) {
	head := func(v []byte) error {
		t, payload, err := record.DecodeTaskHead(v)
		t.Payload = payload
		headers, _ := t.Split()
		enqueuedAtMs, h = t.EnqueuedAtMs, slices.Clone(headers)
		return record.Named(err, "task", ref)
	}
	b.store.by(b.step).gets.Add(1)
	found, err := view(b.store.live(), record.RefKey(record.PrefixTask, ref), head)
	if key := taskKey(ref); err == nil && !found {
		b.puts.Each(func(k young.Key, v []byte) {
			if k == key {
				err = head(v)
			}
		})
	}
	b.note(err) // the commit then fails, as for any damaged record
	return enqueuedAtMs, h
}

// FindClaims implements queue.Journal.
func (b *Batch) FindClaims(ref queue.Ref) (c queue.Claims) {
	b.store.by(b.step).gets.Add(1)
	_, err := view(b.store.live(), record.RefKey(record.PrefixProgress, ref), func(v []byte) error {
		p, err := record.DecodeProgress(v)
		c = p.Claims
		return record.Named(err, "progress of task", ref)
	})
	b.note(err)
	return c
}

// FindError implements queue.Journal.
func (b *Batch) FindError(ref queue.Ref, attempt uint32) string {
	text, err := b.store.LastError(b.step, ref, attempt)
	b.note(err)
	return text
}

// FinishedSizes answers a queue.Refill of queue.StreamFinished.
func (s *Reads) FinishedSizes(r queue.Refill) (out []queue.FinishedSize, err error) {
	from := record.FinishedKey(r.Queue, r.FromSeq)
	err = s.scan(StepOther, from, from[:1+4], func(k, v []byte) (bool, error) {
		_, at, err := record.ParseFinishedKey(k)
		if err != nil || at != r.FromSeq+uint64(len(out)) {
			return false, err
		}
		f, err := record.DecodeFinished(r.Queue, v)
		if err != nil {
			return false, fmt.Errorf("entry %d of the history of queue %d: %w", at, r.Queue, err)
		}
		out = append(out, f.Size())
		return len(out) < r.Limit, nil
	})
	return out, err
}

// FinishedPage is the request for one page of a queue's history. Its fields are as those of Page.
type FinishedPage struct {
	After    Place
	Limit    int
	LookMax  int
	BytesMax int
	Match    func(*queue.Finished) bool
}

// ListFinished lists the entries of a queue's history in a range, the latest first.
func (s *Reads) ListFinished(queueID uint32, in queue.HistoryRange, p FinishedPage) (out []queue.Finished, next Place, err error) {
	before := in.Next
	if len(p.After) > 0 {
		if len(p.After) != 8 {
			return nil, nil, ErrPlace
		}
		before = min(before, binary.BigEndian.Uint64(p.After))
	}
	if before <= in.First {
		return nil, nil, nil
	}
	it, err := s.on.db.NewIter(&pebble.IterOptions{LowerBound: record.FinishedKey(queueID, in.First), UpperBound: record.FinishedKey(queueID, before)})
	if err != nil {
		return nil, nil, fmt.Errorf("list finished tasks: %w", err)
	}
	defer closeAfter(it, &err)
	defer func() { s.by(StepOther).scanned.Add(steps(it)) }()
	looked, lookedBytes, bytes := 0, 0, 0
	for ok := it.Last(); ok; ok = it.Prev() {
		_, at, err := record.ParseFinishedKey(it.Key())
		if err != nil {
			return nil, nil, err
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, nil, fmt.Errorf("list finished tasks: %w", err)
		}
		f, err := record.DecodeFinished(queueID, v)
		if err != nil {
			return nil, nil, fmt.Errorf("entry %d of the history of queue %d: %w", at, queueID, err)
		}
		looked++
		lookedBytes += len(v)
		if f.FinishedAtMs > in.AfterMs && (p.Match == nil || p.Match(&f)) {
			out = append(out, f)
			bytes += len(v)
		}
		if len(out) >= p.Limit || looked >= p.LookMax || p.BytesMax > 0 && bytes >= p.BytesMax || lookedBytes >= lookBytesMax {
			if at == in.First {
				return out, nil, nil
			}
			return out, binary.BigEndian.AppendUint64(nil, at), nil
		}
	}
	return out, nil, it.Error()
}
