package storage

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

// compareLists reads the pages of each list of one queue and compares them with the contents.
func (c *contents) compareLists(t *rapid.T, s *Store) {
	id := rapid.SampledFrom(someQueues).Draw(t, "listed queue")
	var cursors [queue.MaxPriority + 1]uint64
	for p := range cursors {
		cursors[p] = rapid.SampledFrom(someSeqs[:3]).Draw(t, "cursor")
	}
	now := rapid.SampledFrom(someMs).Draw(t, "ready at")
	want := c.ready(id, cursors, now)
	c.comparePages(t, want, func(p Page) ([]Listed, Place, error) { return s.ListReady(id, cursors, now, p) })

	from, before := rapid.SampledFrom(append(someMs, math.MinInt64)).Draw(t, "from"), rapid.SampledFrom(append(someMs, math.MaxInt64)).Draw(t, "before")
	want = nil
	for _, at := range sorted(c.due, compareDue) {
		if _, stored := c.tasks[at.ref]; stored && at.ref.Queue == id && at.ms >= from && at.ms < before {
			want = append(want, at.ref)
		}
	}
	c.comparePages(t, want, func(p Page) ([]Listed, Place, error) { return s.ListReturned(id, from, before, p) })

	want = nil
	for _, ref := range sorted(c.dead, compareRefs) {
		if _, stored := c.tasks[ref]; stored && ref.Queue == id {
			want = append(want, ref)
		}
	}
	listed := c.comparePages(t, want, func(p Page) ([]Listed, Place, error) { return s.ListDead(id, p) })
	for _, l := range listed {
		require.Equal(t, c.dead[l.Ref], l.DeadRecord)
		require.Len(t, l.Attempts, len(c.attempts[l.Ref]))
		for i, a := range l.Attempts {
			require.True(t, i == 0 || a.Number > l.Attempts[i-1].Number)
			require.Equal(t, c.attempts[l.Ref][a.Number], a.Attempt)
		}
	}
}

// ready returns the ready tasks of a queue in the order of claims.
func (c *contents) ready(id uint32, cursors [queue.MaxPriority + 1]uint64, nowMs int64) (refs []queue.Ref) {
	type waiting struct {
		again bool
		ms    int64
		ref   queue.Ref
	}
	var all []waiting
	for ref, task := range c.tasks {
		if _, touched := c.progress[ref]; ref.Queue == id && ref.Seq >= cursors[ref.Priority] && !touched {
			all = append(all, waiting{false, task.EnqueuedAtMs, ref})
		}
	}
	for at := range c.due {
		if _, stored := c.tasks[at.ref]; stored && at.ref.Queue == id && at.ms <= nowMs {
			all = append(all, waiting{at.lane <= queue.MaxPriority, at.ms, at.ref})
		}
	}
	slices.SortFunc(all, func(a, b waiting) int {
		switch {
		case a.ref.Priority != b.ref.Priority:
			return cmp.Compare(b.ref.Priority, a.ref.Priority)
		case a.again != b.again:
			if a.again {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.ref.Seq, b.ref.Seq))
	})
	for _, w := range all {
		refs = append(refs, w.ref)
	}
	return refs
}

// comparePages requires that the pages of a list, for a drawn page size and with or without a match,
// add up to want.
func (c *contents) comparePages(t *rapid.T, want []queue.Ref, list func(Page) ([]Listed, Place, error)) (all []Listed) {
	limit, looks := rapid.IntRange(1, 6).Draw(t, "page"), rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "look at most")
	var match func(*Listed) bool
	if rapid.Bool().Draw(t, "only odd") {
		match = func(l *Listed) bool { return l.Ref.Seq%2 == 1 }
		want = slices.DeleteFunc(want, func(ref queue.Ref) bool { return ref.Seq%2 == 0 })
	}
	var got []queue.Ref
	var place Place
	for range 10_000 {
		page, next, err := list(Page{After: place, Limit: limit, LookMax: looks, Match: match})
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), min(limit, looks))
		for _, l := range page {
			stored, _ := c.look(l.Ref)
			require.Equal(t, stored, l.Stored)
			got = append(got, l.Ref)
		}
		all = append(all, page...)
		if len(next) == 0 {
			require.True(t, slices.Equal(want, got), "want %v, got %v", want, got)
			return all
		}
		place = next
	}
	t.Fatalf("the list does not end")
	return nil
}

// A page stops after many bytes of tasks that it read, even if it returns none of them.
func TestPageBoundsTheBytesThatItLooksAt(t *testing.T) {
	const mib = 1 << 20
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	const n = lookBytesMax/mib + 8
	for seq := range uint64(n) {
		commit(t, s, func(b *Batch) {
			ref := queue.Ref{Queue: 1, Seq: seq}
			b.PutTask(ref, queue.Task{Payload: make([]byte, mib)})
			b.PutDead(ref, queue.Dead{})
		})
	}
	looked := 0
	match := func(*Listed) bool {
		looked++
		return false
	}
	p := Page{Limit: 10, LookMax: 10 * n, Match: match}
	out, next, err := s.ListDead(1, p)
	require.NoError(t, err)
	require.Empty(t, out)
	require.NotEmpty(t, next)
	require.Equal(t, lookBytesMax/mib, looked)
	p.After = next
	_, next, err = s.ListDead(1, p)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Equal(t, n, looked)

	commit(t, s, func(b *Batch) {
		refs := make([]queue.LeaseRef, n)
		for seq := range refs {
			refs[seq] = queue.LeaseRef{Ref: queue.Ref{Queue: 1, Seq: uint64(seq)}, Attempt: 1}
		}
		b.PutLease(1, refs, 0)
	})
	looked, p.After = 0, nil
	leased, next, err := s.ListLeased(1, p)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.NotEmpty(t, next)
	require.Equal(t, lookBytesMax/mib, looked)
}
