package memory

import (
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/waittest"
)

func parseBytes(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"25%": {Percent: 25}, "1%": {Percent: 1}, "90%": {Percent: 90}, "200000000": {Bytes: 200_000_000},
	} {
		s, err := ParseSize(text, parseBytes)
		require.NoError(t, err, text)
		assert.Equal(t, want, s)
		assert.Equal(t, text, s.String(func(n uint64) string { return strconv.FormatUint(n, 10) }))
	}
	for _, text := range []string{"", "0%", "91%", "x%", "-1%", "1000", "99999999999999999", "much"} {
		_, err := ParseSize(text, parseBytes)
		require.Error(t, err, text)
	}
}

func TestAPercentageIsOfTheAvailableMemory(t *testing.T) {
	of := func(s Size, available uint64) int64 {
		n, err := s.of(func() (uint64, error) { return available, nil })
		require.NoError(t, err)
		return n
	}
	assert.InDelta(t, 4<<30, of(DefaultSize, 16<<30), 100)
	assert.EqualValues(t, Least, of(DefaultSize, 100<<20))
	assert.EqualValues(t, 200_000_000, of(Size{Bytes: 200_000_000}, 1))
	_, err := DefaultSize.of(func() (uint64, error) { return 0, errors.New("nothing is known") })
	require.ErrorContains(t, err, "configure the bound in bytes")
	n, err := DefaultSize.Resolve()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, int64(Least))
}

// A server without a memory bound, or with enough memory, has the shares used to measure the
// published figures.
func TestSharesOfAnOrdinaryHostAreWhatWasMeasured(t *testing.T) {
	for _, total := range []int64{0, 4 << 30} {
		s := SharesOf(total, 1, false)
		assert.EqualValues(t, 64<<20, s.MemTableBytes)
		assert.EqualValues(t, 32<<20, s.YoungBytes)
		assert.EqualValues(t, 32<<20, s.BlockCacheBytes)
		assert.EqualValues(t, 64<<20, s.KeyFilterBytes)
		assert.EqualValues(t, 64<<20, s.PayloadBytes)
		assert.Equal(t, 1<<20, s.WindowTasks)
		assert.EqualValues(t, 64<<20, s.InboxBytes)
		assert.Equal(t, 100_000, s.Queues)
		assert.EqualValues(t, 3<<20, s.ClaimBytes)
		assert.Equal(t, 16<<20, s.MessageBytes)
		assert.Equal(t, 64<<10, s.ConnBufferBytes)
		assert.Equal(t, 1<<20, s.StreamWindow)
		c := SharesOf(total, 1, true)
		assert.EqualValues(t, 64<<20, c.MemTableBytes)
		assert.EqualValues(t, 128<<20, c.LogMemTableBytes)
		assert.EqualValues(t, 16<<20, SharesOf(total, 4, false).MemTableBytes)
		assert.EqualValues(t, 2<<20, SharesOf(total, 64, false).MemTableBytes)
	}
}

func TestSharesAddUpToLessThanTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(Least, 64<<30).Draw(t, "total")
		shards, clustered := rapid.IntRange(1, 8).Draw(t, "shards"), rapid.Bool().Draw(t, "clustered")
		s := SharesOf(total, shards, clustered)
		offHeap := 4*s.MemTableBytes*int64(shards) + 2*s.LogMemTableBytes + s.BlockCacheBytes
		live := s.YoungBytes*int64(shards) + s.PayloadBytes + s.KeyFilterBytes + int64(s.Queues)*int64(shards)*queueBytes + int64(s.WindowTasks)*windowTaskBytes + s.InboxBytes + s.RequestBytes + s.OutboxBytes +
			int64(s.Connections)*int64(connBytes+s.ConnBufferBytes) + int64(s.Calls)*callBytes
		require.LessOrEqual(t, programBytes+offHeap+live, total, "%+v", s)
		require.LessOrEqual(t, offHeap+s.GoBytes+programTextBytes, total/100*pausePercent, "%+v", s)
		require.Positive(t, s.GoBytes)
		require.LessOrEqual(t, int64(s.MessageBytes)*MessageFactor, s.RequestBytes)
		bigger := SharesOf(total+total/2, shards, clustered)
		require.GreaterOrEqual(t, bigger.MemTableBytes, s.MemTableBytes)
		require.GreaterOrEqual(t, bigger.Calls, s.Calls)
	})
}

// Memtables are bounded by the room that a start has for writing them to tables.
func TestMemTablesAreBoundedTogether(t *testing.T) {
	for _, c := range []struct{ bytes, each int64 }{{1 << 40, 16 << 20}, {80 << 20, 4 << 20}, {1 << 20, 512 << 10}, {0, 512 << 10}} {
		s := SharesOf(0, 4, false)
		s.LimitMemTables(c.bytes, 4)
		assert.Equal(t, c.each, s.MemTableBytes)
		assert.Equal(t, 20*c.each, s.LoggedBytes(4, false), "four memtables per shard, plus twice the young records of half a memtable")
	}
	clustered := SharesOf(0, 4, true)
	assert.EqualValues(t, 256<<20, clustered.LoggedBytes(4, true))
}

func TestABudgetIsNeverOverdrawn(t *testing.T) {
	b := NewBudget(10)
	assert.True(t, b.Take(10))
	assert.False(t, b.Take(1))
	b.Give(4)
	assert.False(t, b.Take(5))
	assert.True(t, b.Take(4))
	assert.False(t, b.Force(1))
	assert.EqualValues(t, 11, b.Taken())
	var none *Budget
	assert.True(t, none.Take(1<<60))
	none.Give(1 << 60)
}

const patience = waittest.Most

// process simulates the process that a gate watches. Collecting frees the garbage; closing a
// connection turns its memory into garbage.
type process struct {
	live, garbage int64
	conns         []int64
	collected     int
}

func (p *process) resident() (int64, error) {
	n := p.live + p.garbage
	for _, c := range p.conns {
		n += c
	}
	return n, nil
}

func (p *process) gate() *Gate {
	g := NewGate(100, func() bool {
		if len(p.conns) == 0 {
			return false
		}
		p.garbage += p.conns[0]
		p.conns = p.conns[1:]
		return true
	}, slog.New(slog.DiscardHandler))
	g.resident, g.collect, g.step = p.resident, func() { p.garbage, p.collected = 0, p.collected+1 }, 1
	return g
}

func TestAGateCollectsBeforeItCuts(t *testing.T) {
	p := &process{live: 30, garbage: 65, conns: []int64{5}}
	g := p.gate()
	g.Received(1)
	assert.Equal(t, 1, p.collected)
	assert.Len(t, p.conns, 1)
	require.NoError(t, g.Admit())
	g.Received(1)
	assert.Equal(t, 1, p.collected, "the process is small enough")
}

func TestAGateCutsUntilTheProcessIsSmallEnough(t *testing.T) {
	p := &process{live: 30, conns: []int64{20, 20, 25}}
	g := p.gate()
	g.Received(1)
	assert.Equal(t, []int64{20, 25}, p.conns)
	assert.Equal(t, GateCounters{Pauses: 1, Cuts: 1}, g.Counters())
	require.NoError(t, g.Admit())
}

func TestAGateRefusesWhileNothingHelps(t *testing.T) {
	p := &process{live: 95}
	g := p.gate()
	g.Received(1)
	require.ErrorIs(t, g.Admit(), ErrExhausted)
	assert.Equal(t, GateCounters{Pauses: 1, Refusals: 1}, g.Counters())
	p.live = 80
	g.Received(1)
	require.NoError(t, g.Admit(), "the gate admits calls again without intervention")
	var none *Gate
	none.Received(1)
	require.NoError(t, none.Admit())
}

// Input waits even if the goroutine that measures the process gets little time on a busy host.
func TestAGateLetsNoInputPassALookThatIsDue(t *testing.T) {
	g := NewGate(512<<20, func() bool { return false }, slog.New(slog.DiscardHandler))
	looking, looked := make(chan struct{}), make(chan struct{})
	g.resident = func() (int64, error) {
		looking <- struct{}{}
		<-looked
		return 0, nil
	}
	var passed atomic.Int32
	come := func() {
		g.Received(1 << 20)
		passed.Add(1)
	}
	var coming sync.WaitGroup
	coming.Go(come)
	<-looking
	for range 8 {
		coming.Go(come)
	}
	require.Eventually(t, func() bool { return g.input.Load() == 8<<20 }, patience, time.Millisecond)
	assert.Zero(t, passed.Load(), "they wait for the measuring goroutine")
	looked <- struct{}{}
	<-looking // one of them measures for all
	looked <- struct{}{}
	coming.Wait()
	assert.EqualValues(t, 9, passed.Load())
}

// A refused call's headers are only a few bytes on a connection that sends them repeatedly.
func TestACallCountsForMoreThanItsBytes(t *testing.T) {
	p := &process{live: 30, garbage: 65}
	g := p.gate()
	g.step = 100 << 10
	for range 10 {
		g.ReceivedCall()
	}
	assert.Zero(t, p.collected)
	for range 3 {
		g.ReceivedCall()
	}
	assert.Equal(t, 1, p.collected)
}

func TestResidentMemoryIsKnown(t *testing.T) {
	n, err := newResident()()
	require.NoError(t, err)
	assert.Greater(t, n, int64(1<<20))
}
