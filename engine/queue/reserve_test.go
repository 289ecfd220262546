package queue

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// reservedIs returns an error if the journal has no reservation for an issued number.
func reservedIs(j *mapJournal) error {
	for _, q := range j.queues {
		if q.NextSeq > j.reserved.Seq {
			return fmt.Errorf("queue %d goes on at seq %d, and %d are reserved", q.ID, q.NextSeq, j.reserved.Seq)
		}
	}
	if j.meta.NextBatch > j.reserved.Batch || j.meta.NextQueue > j.reserved.Queue {
		return fmt.Errorf("%+v goes beyond what is reserved: %+v", j.meta, j.reserved)
	}
	return nil
}

// TestNumbersAreReservedInTheCommitThatIssuesThem issues numbers beyond each reservation. After each commit it recovers a state that
// has lost everything but the reservation, and checks that this state issues no number twice.
func TestNumbersAreReservedInTheCommitThatIssuesThem(t *testing.T) {
	f := newFixture(t, Config{Reserve: true})
	seen, reservations := map[Ref]bool{}, 0
	last := Reserved{}
	for i := range 3 * queuesReserved {
		for _, ref := range f.fill(fmt.Sprint("q", i%(2*queuesReserved)), 2) {
			require.False(t, seen[ref])
			seen[ref] = true
		}
		require.True(t, f.Flush())
		require.NoError(t, reservedIs(f.journal))
		if f.journal.reserved != last {
			last = f.journal.reserved
			reservations++
		}
	}
	require.Equal(t, 2, reservations, "one for each thousand queues")

	ends := last
	ends.Seq, ends.Batch = f.journal.reserved.Seq-1, f.journal.reserved.Batch-1
	for name, from := range map[string]Recovered{
		"all is lost":              {Reserved: last},
		"at the end of seqs":       {Reserved: last, Queues: []Record{{ID: 5, Tenant: "t", Name: "q5", NextSeq: last.Seq}}},
		"at the end of batches":    {Reserved: last, Meta: Meta{NextBatch: last.Batch}},
		"beyond what was reserved": {Reserved: ends, Meta: Meta{NextBatch: last.Batch, NextQueue: 9}, Queues: []Record{{ID: 5, Tenant: "t", Name: "q5", NextSeq: last.Seq}}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newMapJournal(t.Fatalf)
			j.reserved = from.Reserved
			from.NextExpiryMs = math.MaxInt64
			s, err := New(Config{Reserve: true}, j, from)
			require.NoError(t, err)
			g := &fixture{t: t, now: 1_000, journal: j, State: s}
			for _, ref := range append(g.fill("q5", 2), g.fill("another", 2)...) {
				require.False(t, seen[ref], "%v", ref)
				require.GreaterOrEqual(t, ref.Seq, from.Reserved.Seq)
				if len(from.Queues) == 0 || ref.Queue != from.Queues[0].ID {
					require.GreaterOrEqual(t, ref.Queue, from.Reserved.Queue)
				}
			}
			require.GreaterOrEqual(t, s.newLease().id, from.Reserved.Batch)
			require.True(t, g.Flush())
			require.NoError(t, reservedIs(j))
		})
	}
}

// TestEachNumberHasAReservationOfItsOwn passes the end of one reservation while the others have room.
func TestEachNumberHasAReservationOfItsOwn(t *testing.T) {
	for name, issue := range map[string]func(*fixture){
		"seqs": func(f *fixture) {
			q, _ := f.Named("t", "q")
			q.record.NextSeq = f.reserved.Seq
			f.fill("q", 1)
		},
		"batches": func(f *fixture) {
			f.meta.NextBatch = f.reserved.Batch
			w := f.wait(1, "q")
			require.Len(t, f.dispatch()[w], 1)
		},
		"queues": func(f *fixture) {
			f.meta.NextQueue = f.reserved.Queue
			f.fill("another", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Config{Reserve: true})
			f.fill("q", 1)
			require.True(t, f.Flush())
			before := f.journal.reserved
			issue(f)
			require.True(t, f.Flush())
			require.NotEqual(t, before, f.journal.reserved)
			require.NoError(t, reservedIs(f.journal))
		})
	}
}

func TestNothingIsReservedUnlessAsked(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 3)
	require.True(t, f.Flush())
	require.Zero(t, f.journal.reserved)
}
