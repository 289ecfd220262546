package ledger

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSealAroundKeepsTheContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, address := drawIdentity(t), NewAddress(drawName(t, "tenant"), drawName(t, "queue"))
		payload := rapid.SliceOfN(rapid.Byte(), HeaderSize, 300).Draw(t, "payload")
		content := slices.Clone(payload[HeaderSize:])

		SealAround(payload, id, address)
		require.Equal(t, content, payload[HeaderSize:])
		got, err := Open(payload, address)
		require.NoError(t, err)
		require.Equal(t, id, got)

		if len(content) > 0 {
			payload[HeaderSize+rapid.IntRange(0, len(content)-1).Draw(t, "at")] ^= 1
			_, err = Open(payload, address)
			require.ErrorIs(t, err, ErrMisrouted, "a changed content is detected, like any damage")
		}
	})
}

func TestRouteThatIsAddedIsKnown(t *testing.T) {
	payload := sealed(task(1, 42), "t9", "q9")
	l := newLedger(2)
	_, verdict := l.Claimed(payload, NewAddress("t0", "q0"))
	require.Equal(t, Unreadable, verdict)
	l.AddRoute(Route{"t9", "q9"})
	id, verdict := l.Claimed(payload, NewAddress("t0", "q0"))
	assert.Equal(t, Misplaced, verdict)
	assert.Equal(t, task(1, 42), id)
	assert.EqualValues(t, 1, l.Balance().Misrouted)
}

func TestRoutesAreBounded(t *testing.T) {
	l := New(1, 1, nil)
	for i := range routesMax + 10 {
		l.AddRoute(Route{"t", strconv.Itoa(i)})
	}
	assert.Len(t, l.routes, routesMax)
}

// Routes are added while other goroutines look up damaged payloads.
func TestRoutesAreAddedWhileTasksAreClaimed(t *testing.T) {
	l, beside := newLedger(1), newLedger(1)
	l.Beside(beside)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 200 {
				l.AddRoute(Route{"t9", string(rune('a' + i*200 + n))})
				beside.AddRoute(Route{"t8", string(rune('a' + i*200 + n))})
			}
		})
		all.Go(func() {
			for range 200 {
				l.Claimed(make([]byte, 64), NewAddress("t0", "q0"))
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 800, l.Balance().Corrupted)
}

// Totals covers exactly the accounts that were used, in any order.
func TestAccountsThatWereUsedCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(testRound, 1000, nil)
		var sent, refused uint64
		highest := -1
		for _, p := range rapid.SliceOfN(rapid.IntRange(0, 999), 0, 20).Draw(t, "producers") {
			highest = max(highest, p)
			if rapid.Bool().Draw(t, "sends") {
				first := l.Sent(p, 3)
				l.Enqueued(p, first, 3)
				sent += 3
				continue
			}
			l.CompletionRefused(Identity{Round: testRound, Producer: uint32(p)})
			refused++
		}
		require.Equal(t, Totals{Sent: sent, Enqueued: sent, CompletionsRefused: refused, Outstanding: sent}, l.Totals())
		require.Equal(t, sent, l.Balance().Lost)
		require.EqualValues(t, highest+1, l.used.Load())
	})
}
