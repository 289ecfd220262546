package queue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (f *fixture) extendWith(d *Delivery, note string) {
	f.t.Helper()
	var out [1]error
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Extend, LeaseMs: 60_000, Error: note}}, out[:])
	require.NoError(f.t, out[0])
}

func (f *fixture) historyBytes() uint64 {
	f.t.Helper()
	q, found := f.Named("t", "q")
	require.True(f.t, found)
	return q.record.Counts.HistoryBytes
}

// A new note replaces the old one, also after a recovery, and an extension without a note keeps it.
func TestANoteIsReplaced(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 1)
	d := f.lease("q")
	f.extendWith(&d, "half")
	assert.Equal(t, "half", f.journal.notes[d.Ref])
	f.extendWith(&d, "")
	assert.Equal(t, "half", f.journal.notes[d.Ref])
	assert.EqualValues(t, len("half"), f.historyBytes())
	f.recover(Config{})
	assert.EqualValues(t, len("half"), f.historyBytes())
	f.extendWith(&d, "all")
	assert.Equal(t, "all", f.journal.notes[d.Ref])
	assert.EqualValues(t, len("all"), f.historyBytes())
	assert.EqualValues(t, len("all"), func() uint16 { l, _ := f.FindLease(d.Ref); return l.NoteBytes }())
}

// The state drops the note and its charge when the task ends, and keeps them while the task waits
// for its next attempt.
func TestANoteEndsWithItsTask(t *testing.T) {
	cfg := Config{MaxAttempts: 2, Backoff: Backoff{InitialMs: 1, MaxMs: 1, JitterPercent: 1}}
	settle := func(s Settlement) func(f *fixture, d *Delivery) {
		return func(f *fixture, d *Delivery) {
			s.Ref, s.Token = d.Ref, d.Token
			var out [1]error
			f.Settle(f.now, "t", []Settlement{s}, out[:])
			require.NoError(f.t, out[0])
		}
	}
	again := func(f *fixture, d *Delivery) {
		*d = f.lease("q")
		require.EqualValues(f.t, len("half"), d.NoteBytes)
	}
	fail, release := settle(Settlement{Action: Fail}), settle(Settlement{Action: Release})
	for name, c := range map[string]struct {
		do   []func(f *fixture, d *Delivery)
		kept bool
	}{
		"completed":              {do: []func(*fixture, *Delivery){settle(Settlement{Action: Complete})}},
		"failed permanently":     {do: []func(*fixture, *Delivery){settle(Settlement{Action: Fail, Permanent: true})}},
		"cancelled while leased": {do: []func(*fixture, *Delivery){func(f *fixture, d *Delivery) { f.cancel(d.Ref) }}},
		"failed":                 {do: []func(*fixture, *Delivery){fail}, kept: true},
		"released":               {do: []func(*fixture, *Delivery){release}, kept: true},
		"lease expired":          {do: []func(*fixture, *Delivery){func(f *fixture, _ *Delivery) { f.pass(3_600_000) }}, kept: true},
		"leased again":           {do: []func(*fixture, *Delivery){release, again}, kept: true},
		"completed later":        {do: []func(*fixture, *Delivery){release, again, settle(Settlement{Action: Complete})}},
		"failed until dead": {do: []func(*fixture, *Delivery){fail, func(f *fixture, d *Delivery) {
			f.pass(10)
			again(f, d)
		}, fail}},
		"cancelled while it waits": {do: []func(*fixture, *Delivery){release, func(f *fixture, d *Delivery) { f.cancel(d.Ref) }}},
		"purged while it waits":    {do: []func(*fixture, *Delivery){release, func(f *fixture, _ *Delivery) { f.purge() }}},
	} {
		for _, recovers := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg)
				f.fill("q", 1)
				d := f.lease("q")
				f.extendWith(&d, "half")
				for _, do := range c.do {
					if recovers {
						f.recover(cfg)
					}
					do(f, &d)
				}
				f.Flush()
				history := uint64(0)
				for _, a := range f.journal.attempts[d.Ref] {
					history += uint64(AttemptBytes(a.Error))
				}
				if c.kept {
					assert.Equal(t, "half", f.journal.notes[d.Ref])
					assert.Equal(t, history+uint64(len("half")), f.historyBytes())
				} else {
					assert.Empty(t, f.journal.notes)
					assert.Equal(t, history, f.historyBytes())
				}
			})
		}
	}
}

// An extension takes effect without its note if the quota has no room for the note.
func TestANoteNeedsRoom(t *testing.T) {
	f, a := withQuota(t, 10)
	f.fill("a", 1)
	d := f.lease("a")
	without := a.bytes
	a.bytesMax = without + int64(len("half"))
	f.extendWith(&d, "half")
	assert.Equal(t, a.bytesMax, a.bytes)
	f.extendWith(&d, "longer")
	assert.Equal(t, "half", f.journal.notes[d.Ref])
	f.extendWith(&d, "all")
	f.Flush()
	assert.Equal(t, without+int64(len("all")), a.bytes)
	var out [1]error
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Fail, Permanent: true}}, out[:])
	require.NoError(t, out[0])
	f.Flush()
	assert.Equal(t, without, a.bytes, "there is no room for the attempt either")
}

// An extension without a note writes what it wrote before notes existed.
func TestAPlainExtensionWritesNoNote(t *testing.T) {
	j, s, got := leaseAll(t, 100)
	var out [1]error
	before := s.QueueIDs()
	s.Settle(1_000, "t", []Settlement{{Ref: got[0].Ref, Token: got[0].Token, Action: Extend, LeaseMs: 1_000}}, out[:])
	require.NoError(t, out[0])
	delete(j.queues, before[0])
	s.Flush()
	assert.Empty(t, j.notes)
	assert.Empty(t, j.queues, "the queue's record is not written")
	assert.Equal(t, 1, j.small)
	assert.Zero(t, j.refs)
}

func TestNotesAreChecked(t *testing.T) {
	l := DefaultLimits()
	s := Settlement{Token: 1, Action: Extend, LeaseMs: 1, Error: strings.Repeat("n", NoteBytesMax)}
	require.Nil(t, l.CheckSettlement(&s))
	s.LeaseMs = 0
	require.ErrorContains(t, l.CheckSettlement(&s), "lease_ms")
	s.Error += "n"
	require.ErrorContains(t, l.CheckSettlement(&s), "note: has 1025 bytes: send at most 1024")
	s.Error = "\xff"
	require.ErrorContains(t, l.CheckSettlement(&s), "note: is not valid UTF-8")
	s.Action, s.LeaseMs = Fail, 0
	require.ErrorContains(t, l.CheckSettlement(&s), "error: is not valid UTF-8")
}
