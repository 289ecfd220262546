package queue

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRingBehavesAsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring[int]
		var want []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if r.len() != len(want) || len(want) > 0 && *r.front() != want[0] {
					t.Fatalf("a ring of %d, want %v", r.len(), want)
				}
			},
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					r.push(next)
					want = append(want, next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(0, len(want)).Draw(t, "n") {
					if got := r.pop(); got != want[0] {
						t.Fatalf("popped %d, want %d", got, want[0])
					}
					want = want[1:]
				}
			},
		})
		for i, v := range r.buf {
			if used := (i-r.head+len(r.buf))%max(1, len(r.buf)) < r.n; !used && v != 0 {
				t.Fatalf("slot %d still holds %d after it was popped", i, v)
			}
		}
	})
}

// timedItem is an element of the deadlines under test.
type timedItem struct {
	atMs  int64
	index int
}

func (i *timedItem) deadlineMs() int64 { return i.atMs }
func (i *timedItem) place() *int       { return &i.index }

func TestDeadlinesBehaveAsASortedSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d deadlines[*timedItem]
		items := make([]*timedItem, 12)
		for i := range items {
			items[i] = &timedItem{index: -1}
		}
		in := map[*timedItem]bool{}
		pick := func(t *rapid.T) *timedItem {
			return items[rapid.IntRange(0, len(items)-1).Draw(t, "item")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				next, ok := d.next()
				if ok != (len(in) > 0) {
					t.Fatalf("next returned ok %v with %d elements", ok, len(in))
				}
				for i := range in {
					if i.atMs < next.atMs || i.index < 0 {
						t.Fatalf("next returned %+v, but %+v is earlier", *next, *i)
					}
				}
				for _, i := range items {
					if !in[i] && i.index != -1 {
						t.Fatalf("%+v was removed but has a place", *i)
					}
				}
			},
			"set": func(t *rapid.T) {
				i := pick(t)
				i.atMs = rapid.Int64Range(0, 20).Draw(t, "at")
				d.set(i)
				in[i] = true
			},
			"remove": func(t *rapid.T) {
				i := pick(t)
				d.remove(i)
				delete(in, i)
			},
			"remove next": func(*rapid.T) {
				if i, ok := d.next(); ok {
					d.remove(i)
					delete(in, i)
				}
			},
		})
	})
}
