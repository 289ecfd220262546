package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// withQueues returns the queues of a shard with these names.
func withQueues(names []Name) *queues {
	qs := &queues{byID: map[uint32]*Queue{}, names: newNames()}
	for i, n := range names {
		q := &Queue{record: Record{ID: uint32(i), Tenant: n.Tenant, Name: n.Queue}}
		qs.byID[q.record.ID] = q
		qs.names.ReplaceOrInsert(q)
	}
	return qs
}

// all lists all pages.
func (qs *queues) all(t require.TestingT, l QueueList) (out []Name, pages int) {
	for {
		ids, end := qs.List(l)
		pages++
		require.LessOrEqual(t, len(ids), l.Limit)
		for _, id := range ids {
			out = append(out, qs.byID[id].name())
		}
		if end == nil {
			return out, pages
		}
		if len(ids) > 0 {
			require.LessOrEqual(t, qs.byID[ids[len(ids)-1]].name().Compare(*end), 0)
		}
		require.True(t, l.After == nil || end.Compare(*l.After) > 0, "each page advances")
		l.After = end
	}
}

func TestAListHasEachQueueOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab]{1,3}`)
		name := rapid.Custom(func(t *rapid.T) Name { return Name{text.Draw(t, "tenant"), text.Draw(t, "name")} })
		names := rapid.SliceOfDistinct(name, func(n Name) Name { return n }).Draw(t, "names")
		qs := withQueues(names)
		l := QueueList{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "of a tenant") {
			l.Tenant = text.Draw(t, "tenant")
		}
		if rapid.Bool().Draw(t, "with a prefix") {
			l.Prefix = text.Draw(t, "prefix")
		}
		if rapid.Bool().Draw(t, "later page") {
			l.After = new(name.Draw(t, "after"))
		}
		want := slices.DeleteFunc(slices.Clone(names), func(n Name) bool { return !l.Has(n) })
		slices.SortFunc(want, Name.Compare)
		got, _ := qs.all(t, l)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	})
}

// A list of all tenants with a prefix visits queues that it does not return. Their number is
// limited.
func TestAListVisitsFewOtherQueues(t *testing.T) {
	var names []Name
	for i := range 3 * listLookMax {
		names = append(names, Name{fmt.Sprintf("t%05d", i), "other"})
	}
	names = append(names, Name{"z", "mine"})
	qs := withQueues(names)
	ids, end := qs.List(QueueList{Prefix: "mine", Limit: 10})
	assert.Empty(t, ids)
	assert.Equal(t, names[listLookMax-1], *end)
	got, pages := qs.all(t, QueueList{Prefix: "mine", Limit: 10})
	assert.Equal(t, names[len(names)-1:], got)
	assert.Equal(t, 4, pages)
}
