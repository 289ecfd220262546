package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGrantsUseTheListsTheyAreGiven checks that grants use the lists of Config.Deliveries, and that
// a waiter without a task keeps no list.
func TestGrantsUseTheListsTheyAreGiven(t *testing.T) {
	taken := 0
	list := make([]Delivery, 0, 100)
	s, err := New(Config{Deliveries: func() []Delivery {
		taken++
		return list
	}}, nullJournal{}, Recovered{})
	require.NoError(t, err)
	_, err = s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1 << 20}, nil)
	require.NoError(t, err)
	for n := 1; n <= 3; n++ {
		tasks := make([]NewTask, 10*n)
		for i := range tasks {
			tasks[i] = NewTask{Queue: "q", Payload: []byte{byte(n), byte(i)}}
		}
		s.Enqueue(1, "t", tasks, make([]Enqueued, len(tasks)))
		grants := s.Dispatch(1, nil)
		require.Len(t, grants, 1)
		ds := grants[0].Deliveries
		require.Len(t, ds, len(tasks))
		assert.Same(t, &list[:1][0], &ds[0])
		for i := range ds {
			assert.Equal(t, []byte{byte(n), byte(i)}, ds[i].Payload)
			require.Equal(t, ds[i].LeaseRef, s.batches[ds[i].Token>>batchBits].refs[i], "the lease has its own copy")
		}
		assert.Empty(t, s.Dispatch(1, nil))
		assert.LessOrEqual(t, taken, n+1, "the next turn uses the list that a turn without a task did not need")
		clear(ds)
		settle := make([]Settlement, 0, len(tasks))
		for _, b := range s.batches {
			for i := range b.refs {
				settle = append(settle, Settlement{Ref: b.refs[i].Ref, Token: Token(b.id, i), Action: Complete})
			}
		}
		errs := make([]error, len(settle))
		s.Settle(1, "t", settle, errs)
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.Empty(t, s.batches)
	}
}

// TestListsOfLeasesAreKeptWithinABound checks the bound of the lists that are kept for new batches.
func TestListsOfLeasesAreKeptWithinABound(t *testing.T) {
	s, err := New(Config{}, nullJournal{}, Recovered{})
	require.NoError(t, err)
	for range 20 {
		b := &lease{refs: make([]LeaseRef, 3, maxBatch)}
		s.fit(b)
		assert.Len(t, b.refs, 3)
		assert.LessOrEqual(t, cap(b.refs), 8, "a long lease uses no more memory than necessary")
	}
	assert.Equal(t, spareRefsMax, s.spareRefsRoom)
	assert.Len(t, s.spareRefs, spareRefsMax/maxBatch)
	for range s.spareRefs {
		assert.Equal(t, maxBatch, cap(s.takeRefs()))
	}
	assert.Zero(t, s.spareRefsRoom)
	assert.Nil(t, s.takeRefs())
}
