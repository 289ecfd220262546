package storage

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

// finishedAt is the key of an entry of a history.
type finishedAt struct {
	queue    uint32
	position uint64
}

func (c *contents) mutateFinished(t *rapid.T, b *Batch, ref queue.Ref) {
	at := finishedAt{ref.Queue, rapid.SampledFrom(someSeqs).Draw(t, "position")}
	if rapid.IntRange(0, 2).Draw(t, "trim") == 0 {
		before := at.position + rapid.Uint64Range(0, 40).Draw(t, "entries")
		maps.DeleteFunc(c.finished, func(k finishedAt, _ queue.Finished) bool {
			return k.queue == at.queue && k.position >= at.position && k.position < before
		})
		b.DropFinished(at.queue, at.position, before)
		return
	}
	f := queue.Finished{
		Ref: ref, How: queue.FinishCompleted, Attempts: rapid.Uint32Range(1, 9).Draw(t, "attempts"), FinishedAtMs: rapid.SampledFrom(someMs).Draw(t, "finished"),
		LastError: strings.Repeat("e", rapid.IntRange(0, 3).Draw(t, "error")),
	}
	c.finished[at] = f
	b.PutFinished(at.position, &f)
}

// compareFinished compares pages of the histories, and the reads of a state.
func (c *contents) compareFinished(t *rapid.T, s *Store) {
	in := queue.HistoryRange{First: rapid.SampledFrom(someSeqs).Draw(t, "first"), Next: math.MaxUint64, AfterMs: rapid.SampledFrom([]int64{math.MinInt64, 255}).Draw(t, "after")}
	id := rapid.SampledFrom(someQueues).Draw(t, "queue")
	p := FinishedPage{Limit: rapid.IntRange(1, 3).Draw(t, "limit"), LookMax: rapid.IntRange(1, 3).Draw(t, "look max"), BytesMax: rapid.SampledFrom([]int{0, 1}).Draw(t, "bytes max")}
	p.Match = func(f *queue.Finished) bool { return f.Attempts > 3 }
	var want, got []queue.Finished
	for _, at := range slices.Backward(c.positions(id)) {
		if f := c.finished[finishedAt{id, at}]; at >= in.First && f.FinishedAtMs > in.AfterMs && f.Attempts > 3 {
			want = append(want, f)
		}
	}
	for pages := 0; ; pages++ {
		page, next, err := s.ListFinished(id, in, p)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), p.Limit)
		require.LessOrEqual(t, pages, len(c.finished))
		if got = append(got, page...); next == nil {
			break
		}
		p.After = next
	}
	require.Equal(t, want, got)
	_, _, err := s.ListFinished(id, in, FinishedPage{After: Place("short"), Limit: 1, LookMax: 1})
	require.ErrorIs(t, err, ErrPlace)

	var sizes []queue.FinishedSize
	for _, at := range c.positions(id) {
		if f := c.finished[finishedAt{id, at}]; at == in.First+uint64(len(sizes)) && len(sizes) < p.Limit {
			sizes = append(sizes, queue.FinishedSize{AtMs: f.FinishedAtMs, Bytes: int64(128 + len(f.LastError))})
		}
	}
	answer, err := s.FinishedSizes(queue.Refill{Queue: id, FromSeq: in.First, Limit: p.Limit})
	require.NoError(t, err)
	require.Equal(t, sizes, answer)

	b := s.NewBatch()
	for ref := range c.ever {
		enqueuedAtMs, h := b.FindHead(ref)
		task := c.tasks[ref]
		headers, _ := task.Split()
		require.Equal(t, task.EnqueuedAtMs, enqueuedAtMs)
		require.Equal(t, string(headers), string(h))
		require.Equal(t, c.progress[ref].Claims, b.FindClaims(ref))
		require.Equal(t, c.attempts[ref][1].Error, b.FindError(ref, 1))
	}
}

// positions returns the positions of the entries of a queue.
func (c *contents) positions(id uint32) (out []uint64) {
	for at := range c.finished {
		if at.queue == id {
			out = append(out, at.position)
		}
	}
	slices.SortFunc(out, cmp.Compare[uint64])
	return out
}
