package duet

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Looks have as many generations as fit into their time, and the first look that decides ends the
// duet.
func TestLooks(t *testing.T) {
	t.Parallel()
	for decides, want := range map[int][]int{1: {4}, 2: {4, 8}, 3: {4, 8, 12}, 99: {4, 8, 12}} {
		h := newFakeHost()
		var asked []int
		c := h.conductor(t, Options{Within: 18 * time.Second, Looks: 3, Decided: func(d *result.Duet, look int) bool {
			asked = append(asked, len(d.Generations))
			assert.Len(t, asked, look)
			return look >= decides
		}})
		measured(t, c)
		assert.Equal(t, want, asked, "decided at look %d", decides)
		assert.Len(t, c.duet.Generations, want[len(want)-1])
	}
	c := newFakeHost().conductor(t, Options{Within: time.Nanosecond})
	measured(t, c)
	assert.Len(t, c.duet.Generations, generationsMin, "fewer have no spread")
	c = newFakeHost().conductor(t, Options{PerLook: 2, Looks: 3, Decided: func(d *result.Duet, look int) bool {
		assert.Len(t, d.Generations, 2*look)
		return look == 2
	}})
	measured(t, c)
	assert.Len(t, c.duet.Generations, 4, "PerLook ends a look")
	c = newFakeHost().conductor(t, Options{Generations: 5})
	measured(t, c)
	assert.Len(t, c.duet.Generations, 5, "Generations bounds their number")
}

// Each layout is measured equally often with each side first.
func TestPlanIsCounterbalanced(t *testing.T) {
	t.Parallel()
	for layouts := 1; layouts <= 5; layouts++ {
		c := conductor{sides: [2]Side{{Servers: make([]string, layouts)}, {Servers: make([]string, layouts)}}, duet: &result.Duet{}}
		first := map[int]int{}
		for n := 1; n <= 4*layouts; n++ {
			g := c.plan(n)
			assert.Equal(t, n, g.Number)
			first[2*g.Layout+g.First]++
		}
		assert.Len(t, first, 2*layouts)
		for _, n := range first {
			assert.Equal(t, 2, n, "%d layouts", layouts)
		}
	}
}

// Both sides have the same arrivals in all generations, at a fraction of the base's rate in the
// first one.
func TestOpenPhase(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.slowed = func(generation, _, _ int) time.Duration { return time.Duration(generation-1) * sliceLength }
	c := h.conductor(t, Options{Generations: 3})
	measured(t, c)
	assert.InDelta(t, openShare*100_000, c.duet.OpenPerS, 1)
	seeds := map[string]bool{}
	for n := 1; n <= 3; n++ {
		of := h.both(t, n)
		require.Len(t, of[Base].open, openPairs)
		assert.Equal(t, of[Base].open, of[Change].open)
		for _, slice := range of[Base].open {
			seeds[slice] = true
		}
		assert.Equal(t, 3.0, c.duet.Generations[n-1].Sides[Change].Open.P99Ms)
	}
	assert.Len(t, seeds, 3*openPairs, "each slice has a different seed")
}

// Clocks and counters are read first of the side that was started first, so that each side is first
// equally often.
func TestSidesAreReadInTheOrderOfTheirStart(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 2})
	measured(t, c)
	assert.NotEqual(t, c.duet.Generations[0].First, c.duet.Generations[1].First)
	for _, read := range [][][2]int{h.read.clocks, h.read.counters} {
		require.NotEmpty(t, read)
		for i, of := range read {
			g := c.duet.Generations[of[0]-1]
			assert.Equal(t, (g.First+i)%2, of[1], "reading %d, of generation %d", i, g.Number)
		}
	}
}

// A generation on an unfit host is dropped, and the duet continues.
func TestUnfitHost(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.signals.ForeignCPUPercent = new(62.0)
	c := h.conductor(t, Options{Generations: 2})
	text := measured(t, c)
	for _, g := range c.duet.Generations {
		assert.Equal(t, result.Invalid, g.Verdict)
		assert.Equal(t, []string{"processes that are not of this run used 62 % of all CPUs' time; up to 30 % is sound (validity.foreign_cpu_percent_max)"}, g.Reasons)
		assert.Empty(t, g.Sides[Base].Faults, "no side is at fault")
		assert.Equal(t, 62.0, *g.Signals.ForeignCPUPercent)
	}
	assert.Contains(t, text, "generation 2: invalid: processes that are not of this run used 62 %")
}

// A side whose load fails has a fault in that generation, and the next generation is measured.
func TestLoadThatBreaks(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.broken = func(generation, side, slice int) error {
		if generation == 1 && side == Change && slice == warmupPairs+5 {
			return errBroken
		}
		return nil
	}
	c := h.conductor(t, Options{Generations: 3})
	measured(t, c)
	require.Len(t, c.duet.Generations, 3)
	g := c.duet.Generations[0]
	assert.Equal(t, result.Invalid, g.Verdict)
	assert.Equal(t, []string{"change: the load failed: slice: the connection broke"}, g.Reasons)
	assert.Equal(t, []string{"slice: the connection broke"}, g.Sides[Change].Faults)
	assert.Empty(t, g.Sides[Base].Faults)
	assert.Equal(t, result.Pass, c.duet.Generations[1].Verdict)
	assert.InDelta(t, openShare*100_000, c.duet.OpenPerS, 1, "the first generation that has a rate counts")
}

// A generation reports refused tasks and does not count.
func TestServersThatRefuseTasks(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 2})
	h.ended = func(generation, side int, of *finished) {
		if generation == 1 && side == Change {
			of.refused = "the server refused 7 enqueues: the disk is full"
		}
	}
	measured(t, c)
	g := c.duet.Generations[0]
	assert.Equal(t, result.Invalid, g.Verdict)
	assert.Equal(t, []string{"change: the server refused 7 enqueues: the disk is full"}, g.Reasons)
	assert.Equal(t, []string{"the server refused 7 enqueues: the disk is full"}, g.Sides[Change].Faults)
	assert.Equal(t, result.Pass, c.duet.Generations[1].Verdict)
}

// A failed side ends the duet and is named.
func TestSideThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil   func(*fakeHost, *conductor)
		verdict result.Verdict
		reason  string
	}{
		"its server dies": {func(h *fakeHost, _ *conductor) {
			h.broken = func(generation, side, slice int) error {
				if generation < 2 || side != Base || slice < 3 {
					return nil
				}
				for _, p := range h.parties {
					if p.generation == generation && p.side == Base {
						p.died = errors.New("the server ended by itself")
					}
				}
				return errBroken
			}
		}, result.Incorrect, "base: the server ended by itself"},
		"its server does not start": {func(h *fakeHost, _ *conductor) {
			h.refused = func(generation, side int) error {
				if generation == 2 && side == Change {
					return errors.New("store: not today")
				}
				return nil
			}
		}, result.Misconfigured, "change: store: not today"},
		"it loses tasks": {func(_ *fakeHost, c *conductor) {
			start := c.start
			c.start = func(ctx context.Context, g *result.Generation, side int) (party, error) {
				p, err := start(ctx, g, side)
				if g.Number == 2 && side == Change {
					p.(*fakeParty).finished.problems = []string{"1 lost"}
				}
				return p, err
			}
		}, result.Incorrect, "change: 1 lost"},
		"its server does not end in order": {func(_ *fakeHost, c *conductor) {
			start := c.start
			c.start = func(ctx context.Context, g *result.Generation, side int) (party, error) {
				p, err := start(ctx, g, side)
				if g.Number == 2 && side == Base {
					p.(*fakeParty).died = errors.New("it was killed")
				}
				return p, err
			}
		}, result.Incorrect, "base: it was killed"},
	} {
		h := newFakeHost()
		d := h.conductor(t, Options{Generations: 5, Decided: func(*result.Duet, int) bool { panic("the duet has ended") }})
		c.spoil(h, d)
		measured(t, d)
		require.Len(t, d.duet.Generations, 2, name)
		g := d.duet.Generations[1]
		assert.Equal(t, c.verdict, g.Verdict, name)
		assert.Equal(t, []string{c.reason}, g.Reasons, name)
		for _, p := range h.parties {
			assert.Equal(t, 1, p.stops, "%s: each party is stopped once", name)
		}
	}
}

// An interrupted duet stops its processes and stores its measurements so far.
func TestInterruptedDuet(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	h.broken = func(generation, _, _ int) error {
		if generation == 3 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	err := c.measure(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted in generation 3")
	assert.Len(t, c.duet.Generations, 2)
	for _, p := range h.parties {
		assert.Equal(t, 1, p.stops)
	}
}

// A stalled slice is marked with the CPU time of the processes during it, and still counts.
func TestSliceThatStalls(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.slowed = func(generation, side, slice int) time.Duration {
		if generation == 1 && side == Change && slice == warmupPairs+1 {
			return 1300 * time.Millisecond
		}
		return 0
	}
	c := h.conductor(t, Options{Generations: 2})
	text := measured(t, c)
	g := c.duet.Generations[0]
	require.Len(t, g.Marks, 1)
	assert.Regexp(t, `^slice [12], of change: 1000 cycles in 1310\.0 ms, expected 131000 at the median rate; CPU time in the slice: its servers 20\.0 ms, its generator 15\.0 ms, the other side's servers 1\.0 ms$`, g.Marks[0])
	assert.Contains(t, text, "    1 disturbance, which the page lists\n")
	assert.NotContains(t, text, g.Marks[0], "the terminal shows only the number of marks")
	assert.Equal(t, result.Pass, g.Verdict)
	assert.Empty(t, c.duet.Generations[1].Marks)
	h = newFakeHost()
	h.slowed = func(_, side, slice int) time.Duration {
		if side == Base && slice%3 == 0 {
			return 50 * time.Millisecond
		}
		return 0
	}
	c = h.conductor(t, Options{Generations: 1})
	measured(t, c)
	marks := c.duet.Generations[0].Marks
	require.Len(t, marks, marksMax+1)
	assert.Equal(t, "further slices stalled as well", marks[marksMax])
}

// A single generation that hung does not shorten the rest of a look.
func TestOneGenerationThatHung(t *testing.T) {
	t.Parallel()
	const late = 10 // so that it is among the last few near the end of the look
	of := func(slow time.Duration) *result.Duet {
		h := newFakeHost()
		h.slowed = func(generation, _, slice int) time.Duration {
			if generation == late && slice == warmupPairs+1 {
				return slow
			}
			return 0
		}
		h.broken = func(generation, _, slice int) error {
			if generation == late && slice == warmupPairs+1 && slow > 0 {
				return errBroken
			}
			return nil
		}
		c := h.conductor(t, Options{Within: time.Minute, Looks: 1})
		measured(t, c)
		return c.duet
	}
	usual := of(0)
	hung := of(10 * time.Second)
	last := hung.Generations[len(hung.Generations)-1]
	assert.Equal(t, result.Invalid, hung.Generations[late-1].Verdict)
	assert.Len(t, hung.Generations, len(usual.Generations)-1, "it took the time of one and a half additional generations")
	assert.Equal(t, result.Pass, last.Verdict)
}

// A simultaneous failure of both sides is a fault of each.
func TestBothSidesFail(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.unprofiled = errBroken
	c := h.conductor(t, Options{})
	into, err := c.newProfiles()
	require.NoError(t, err)
	g := c.plan(1)
	c.generation(t.Context(), g, func(ctx context.Context, g *result.Generation, parties [2]party) error {
		return c.profiled(ctx, g, parties, into, closedLength)
	})
	assert.Equal(t, []string{"base: the load failed: the connection broke", "change: the load failed: the connection broke"}, g.Reasons)
	for _, side := range g.Sides {
		assert.Equal(t, []string{"the connection broke"}, side.Faults)
	}
}

// A generator that is late through its own fault is marked.
func TestGeneratorThatIsLate(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 1})
	h.ended = func(_, side int, of *finished) { of.open.SlipMsP99 = []float64{0.5, 12}[side] }
	measured(t, c)
	g := c.duet.Generations[0]
	assert.Equal(t, []string{"change: the generator sent one in a hundred tasks of the open phase 12 ms late or more; up to 1 ms is sound (validity.slip_ms_p99_max)"}, g.Marks)
	assert.Equal(t, result.Pass, g.Verdict)
}

// The servers' settings are stored, and may end the duet before it has load.
func TestSettingsOfBothSides(t *testing.T) {
	t.Parallel()
	said := func(memory string) []result.ServerSettings {
		return []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "memory", Value: memory, Origin: "default"}}}}
	}
	refused := errors.New("their settings differ")
	for _, refusal := range []error{nil, refused} {
		h := newFakeHost()
		h.settings = [2][]result.ServerSettings{said("1GiB"), said("2GiB")}
		asked := 0
		c := h.conductor(t, Options{Generations: 3, Admit: func(base, change []result.ServerSettings) error {
			asked++
			assert.Equal(t, said("1GiB"), base)
			assert.Equal(t, said("2GiB"), change)
			for _, p := range h.parties {
				assert.Zero(t, p.slices)
			}
			return refusal
		}})
		require.ErrorIs(t, c.measure(t.Context()), refusal)
		assert.Equal(t, 1, asked)
		assert.Equal(t, said("1GiB"), c.duet.Sides[Base].Settings)
		assert.Equal(t, said("2GiB"), c.duet.Sides[Change].Settings)
		for _, p := range h.parties {
			assert.Equal(t, 1, p.stops)
			assert.Equal(t, refusal == nil, p.slices > 0)
		}
	}
}

// A stored duet reads back unchanged.
func TestDuetIsStored(t *testing.T) {
	t.Parallel()
	c := newFakeHost().conductor(t, Options{Generations: 2, Warnings: []string{"beware"}, Command: []string{"prony"}})
	measured(t, c)
	require.NoError(t, c.store())
	read, err := result.ReadDuet(c.folder.Path())
	require.NoError(t, err)
	assert.Equal(t, c.duet.Generations[1].Slices, read.Generations[1].Slices)
	assert.Equal(t, c.duet.Generations[1].Sides, read.Generations[1].Sides)
	assert.Equal(t, c.duet.Sides, read.Sides)
	assert.Equal(t, []string{"beware"}, read.Warnings)
	assert.Equal(t, "none", read.Manifest.Durability())
	assert.Equal(t, milliseconds(sliceLength), read.SliceMs)
	info, err := os.Stat(c.folder.File(result.ManifestFile))
	require.NoError(t, err)
	assert.NotZero(t, info.Size())
}

func TestSidesThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	side := Side{Name: "base", Servers: []string{"a"}, Generator: "g"}
	s := golden.Cases(t, "testdata/sides.golden")
	for name, sides := range map[string][2]Side{
		"a bad name":        {{Name: "The base", Servers: side.Servers, Generator: "g"}, side},
		"no generator":      {side, {Name: "change", Servers: side.Servers}},
		"different layouts": {side, {Name: "change", Servers: []string{"a", "b"}, Generator: "g"}},
		"no servers":        {side, {Name: "change", Generator: "g"}},
	} {
		_, _, err := Measure(t.Context(), fakeScenario(), sides, Options{Out: t.TempDir()})
		s.Error(t, name, err)
	}
}
