package shard

import (
	"context"
	"errors"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// HistoryList is the request for one page of the finished tasks of a queue, the latest of each shard
// first.
type HistoryList struct {
	Tenant string
	Queue  string
	// ID selects one task, unless it is nil. Only its shard is read then, and Queue may be empty.
	ID    *queue.ID
	Limit int
	// BytesMax approximately limits the bytes of a page, as in List.
	BytesMax int
	Match    func(*queue.Finished) bool // selects tasks; nil selects all
}

// FinishedTask is a finished task with its id and the name of its queue.
type FinishedTask struct {
	queue.Finished
	ID    queue.ID
	Queue string
}

// HistoryPage is a page of a HistoryList. Next is as in ListPage.
type HistoryPage struct {
	Tasks []FinishedTask
	Next  *ListPlace
}

// historyRead is what the reading goroutine needs to know of a queue.
type historyRead struct {
	queueID uint32
	name    string
	in      queue.HistoryRange
}

// History lists finished tasks of the shard. It calls reply from a separate goroutine, as List does.
func (s *Shard) History(l HistoryList, after storage.Place, reply func(HistoryPage, error)) error {
	return put(s, &query[historyRead]{
		decided: func(d *decider, nowMs int64) (historyRead, error) {
			q, found := d.state.Named(l.Tenant, l.Queue)
			if l.Queue == "" && l.ID != nil {
				q, found = d.state.Queue(l.ID.Queue)
				found = found && q.Tenant() == l.Tenant
			}
			if !found {
				return historyRead{}, ErrNoQueue
			}
			return historyRead{q.ID(), q.Name(), q.History(nowMs)}, nil
		},
		reply: func(h historyRead, err error) {
			if err != nil {
				reply(HistoryPage{}, err)
				return
			}
			s.reading.Go(func() { reply(s.readHistory(l, after, h)) })
		},
	})
}

func (s *Shard) readHistory(l HistoryList, after storage.Place, h historyRead) (page HistoryPage, err error) {
	match := l.Match
	if l.ID != nil {
		match = func(f *queue.Finished) bool { return f.Ref == l.ID.Ref && (l.Match == nil || l.Match(f)) }
	}
	tasks, next, err := s.store.ListFinished(h.queueID, h.in, storage.FinishedPage{After: after, Limit: l.Limit, LookMax: listLookMax, BytesMax: l.BytesMax, Match: match})
	for i := range tasks {
		page.Tasks = append(page.Tasks, FinishedTask{tasks[i], queue.ID{Shard: uint16(s.opts.Number), Ref: tasks[i].Ref}, h.name})
	}
	if len(next) > 0 {
		page.Next = &ListPlace{Shard: s.opts.Number, After: next}
	}
	return page, err
}

// HistoryAt lists finished tasks of the shard from.Shard, starting at from. Its errors are those of
// Page.
func (g *Group) HistoryAt(ctx context.Context, l HistoryList, from ListPlace) (HistoryPage, error) {
	s, err := g.of(queue.ID{Shard: uint16(from.Shard)})
	if err != nil {
		return HistoryPage{}, err
	}
	return AwaitReply(ctx, func(reply func(HistoryPage, error)) error { return s.History(l, from.After, reply) })
}

// History lists finished tasks of all shards, one shard after the other, starting at from. This node
// must lead them. Its errors are those of List.
func (g *Group) History(ctx context.Context, l HistoryList, from ListPlace) (page HistoryPage, err error) {
	if from.Shard < 0 || from.Shard >= g.size {
		return page, storage.ErrPlace
	}
	last, limit, left := g.size-1, l.Limit, l.BytesMax
	if l.ID != nil {
		from.Shard, last = max(from.Shard, int(l.ID.Shard)), int(l.ID.Shard)
	}
	found := len(from.After) > 0 || from.Shard > 0
	for at := from; at.Shard <= last; at = (ListPlace{Shard: at.Shard + 1}) {
		if len(page.Tasks) >= limit || l.BytesMax > 0 && left <= 0 {
			page.Next = &at
			return page, nil
		}
		l.Limit, l.BytesMax = limit-len(page.Tasks), left
		part, err := g.HistoryAt(ctx, l, at)
		if errors.Is(err, ErrNoQueue) {
			continue
		}
		if err != nil {
			return page, err
		}
		found = true
		page.Tasks = append(page.Tasks, part.Tasks...)
		for i := range part.Tasks {
			left -= part.Tasks[i].bytes()
		}
		if part.Next != nil {
			page.Next = part.Next
			return page, nil
		}
	}
	if !found {
		return page, ErrNoQueue
	}
	return page, nil
}

func (f *FinishedTask) bytes() int { return int(f.Size().Bytes) }
