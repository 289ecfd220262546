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
			return fmt.Errorf("queue %d has next seq %d, but only %d are reserved", q.ID, q.NextSeq, j.reserved.Seq)
		}
	}
	if j.meta.NextBatch > j.reserved.Batch || j.meta.NextQueue > j.reserved.Queue {
		return fmt.Errorf("%+v exceeds the reservation %+v", j.meta, j.reserved)
	}
	return nil
}

// TestNumbersAreReservedInTheCommitThatIssuesThem issues numbers beyond each reservation. After
// each commit it recovers a state that has lost everything except the reservation, and checks that
// this state issues no number twice.
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
	require.Equal(t, 2, reservations, "one per thousand queues")

	ends := last
	ends.Seq, ends.Batch = f.journal.reserved.Seq-1, f.journal.reserved.Batch-1
	for name, from := range map[string]Recovered{
		"all commits are lost":   {Reserved: last},
		"at the end of seqs":     {Reserved: last, Queues: []Record{{ID: 5, Tenant: "t", Name: "q5", NextSeq: last.Seq}}},
		"at the end of batches":  {Reserved: last, Meta: Meta{NextBatch: last.Batch}},
		"beyond the reservation": {Reserved: ends, Meta: Meta{NextBatch: last.Batch, NextQueue: 9}, Queues: []Record{{ID: 5, Tenant: "t", Name: "q5", NextSeq: last.Seq}}},
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

// TestEachNumberHasAReservationOfItsOwn exceeds one kind of reservation while the others have room.
func TestEachNumberHasAReservationOfItsOwn(t *testing.T) {
	for name, issue := range map[string]func(*fixture){
		"seqs": func(f *fixture) {
			q, _ := f.Named("t", "q")
			q.record.NextSeq = f.reserved.Seq
			f.fill("q", 1)
		},
		"batches": func(f *fixture) {
			f.nextBatch = f.reserved.Batch
			w := f.wait(1, "q")
			require.Len(t, f.dispatch()[w], 1)
		},
		"queues": func(f *fixture) {
			f.nextID = f.reserved.Queue
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

// TestAfterRestoreLeavesOutWhatCanHaveBeenIssued compares the numbers of a restored store with
// those that other servers can have issued since the backup, in several terms, starts and at a high
// rate.
func TestAfterRestoreLeavesOutWhatCanHaveBeenIssued(t *testing.T) {
	const term, agoMs = 7, 3600_000
	from := Recovered{
		Reserved: Reserved{Batch: 5, Queue: 6, Seq: 7}, Meta: Meta{NextBatch: 1 << 40, NextQueue: 90},
		Queues: []Record{{NextSeq: 1 << 41}, {NextSeq: 3}},
	}
	r, err := from.AfterRestore(term, agoMs)
	require.NoError(t, err)
	since := from.Reserved.InTerm(term + restoredTerms)
	require.GreaterOrEqual(t, r.Seq, since.Seq, "terms")
	require.GreaterOrEqual(t, r.Batch, since.Batch)
	const tasksPerMs, claimsPerMs = 4_000_000, 1_000
	require.GreaterOrEqual(t, r.Seq, from.Queues[0].NextSeq+agoMs*tasksPerMs, "a rate")
	require.GreaterOrEqual(t, r.Batch, from.Meta.NextBatch+agoMs*claimsPerMs)
	const starts = 4096 + agoMs/16_384
	require.GreaterOrEqual(t, r.Seq, from.Queues[0].NextSeq+starts*seqsReserved, "starts")
	require.GreaterOrEqual(t, r.Batch, from.Meta.NextBatch+starts*batchesReserved)
	require.Greater(t, r.Queue, from.Meta.NextQueue+1_000_000)

	later, err := from.AfterRestore(term, agoMs+1)
	require.NoError(t, err)
	require.GreaterOrEqual(t, later.Seq, r.Seq+tasksPerMs, "a later restore of the same backup")
	require.GreaterOrEqual(t, later.Batch, r.Batch+claimsPerMs)
}

// TestNumbersLastForManyRestores restores each day from the backup of the day before, once from a
// very old backup, and until the numbers are exhausted.
func TestNumbersLastForManyRestores(t *testing.T) {
	const dayMs, yearMs = 24 * 3600_000, 366 * 24 * 3600_000
	from := Recovered{}
	again := func(agoMs uint64) (err error) {
		was := from.Reserved
		if from.Reserved, err = from.AfterRestore(0, agoMs); err == nil {
			require.Greater(t, from.Reserved.Seq, was.Seq)
			require.Greater(t, from.Reserved.Batch, was.Batch)
			require.GreaterOrEqual(t, from.Reserved.Queue, was.Queue)
			require.Less(t, from.Reserved.InTerm(TermsNumbered).Seq, uint64(math.MaxUint64/2+math.MaxUint64/8))
			require.Less(t, Token(from.Reserved.Batch-1, maxBatch-1), uint64(math.MaxInt64))
		}
		return err
	}
	for range 20 * 365 {
		require.NoError(t, again(dayMs))
	}
	require.NoError(t, again(25*yearMs))
	require.ErrorIs(t, again(math.MaxUint64), ErrNumbersUsedUp)
	for range 1 << 15 {
		if err := again(dayMs); err != nil {
			require.ErrorIs(t, err, ErrNumbersUsedUp)
			return
		}
	}
	t.Fatal("the numbers are never exhausted")
}
