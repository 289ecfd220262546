package duet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/validity"
)

// generationTimeout bounds the time of a generation, which normally takes seconds. After it a side
// that hangs is ended.
const generationTimeout = 2 * time.Minute

// generation starts fresh processes of both sides, calls load to generate and measure the load, and
// stops the processes. No process remains when it returns. A failure of a side or of the host
// becomes the verdict of g.
func (c *conductor) generation(ctx context.Context, g *result.Generation, load func(context.Context, *result.Generation, [2]party) error) {
	g.Started = time.Now()
	began := c.now()
	defer func() { g.Seconds = c.now().Sub(began).Seconds() }()
	limited, cancel := context.WithTimeout(ctx, generationTimeout)
	defer cancel()
	var parties [2]party
	defer func() { c.stop(ctx, g, parties) }()
	for _, side := range inOrder(g.First) {
		p, err := c.start(limited, g, side)
		if err != nil {
			if ctx.Err() == nil {
				fault(g, result.Misconfigured, fmt.Sprintf("%s: %v", c.sides[side].Name, err))
			}
			return
		}
		parties[side] = p
	}
	if c.admit(parties); c.refused != nil {
		return
	}
	if err := load(limited, g, parties); err != nil {
		c.blame(ctx, g, parties, err)
	}
}

// admit stores the settings of both sides' servers. It sets c.refused if Admit returns an error. It
// does this only in the first generation, because later generations use the same builds and
// scenario.
func (c *conductor) admit(parties [2]party) {
	if c.asked {
		return
	}
	c.asked = true
	for side, p := range parties {
		c.duet.Sides[side].Settings = p.settings()
	}
	if c.options.Admit != nil {
		c.refused = c.options.Admit(c.duet.Sides[Base].Settings, c.duet.Sides[Change].Settings)
	}
}

func (c *conductor) pairs(g *result.Generation, parties [2]party) *pairs {
	return &pairs{
		parties: parties, first: g.First, together: c.duet.Together, now: c.now,
		order: rand.New(rand.NewPCG(c.options.Seed, uint64(g.Number))),
	}
}

func (c *conductor) timed(ctx context.Context, g *result.Generation, parties [2]party) error {
	p := c.pairs(g, parties)
	if err := p.warmUp(ctx, warmupPairs); err != nil {
		return err
	}
	before := c.readCounters(ctx, g, parties)
	stop := c.signals(parties)
	slices, sides, err := p.measure(ctx, c.options.Closed)
	if err == nil {
		g.Slices, g.Sides = slices, sides
		c.countersBetween(g, before, c.readCounters(ctx, g, parties))
		if c.duet.OpenPerS == 0 && sides[Base].Cycles > 0 {
			c.duet.OpenPerS = openShare * float64(sides[Base].Cycles) / sides[Base].ActiveS
		}
		if c.duet.OpenPerS > 0 {
			err = p.open(ctx, c.duet.OpenPerS, c.options.OpenPairs)
		}
	}
	signals := stop()
	if err != nil {
		return err
	}
	g.Signals = &signals
	c.judge(g)
	c.readCode(g, parties)
	return c.finish(ctx, g, parties)
}

// finish ends the load of both sides concurrently and stores their measurements.
func (c *conductor) finish(ctx context.Context, g *result.Generation, parties [2]party) error {
	var ends [2]finished
	if err := atOnce(func(side int) (err error) {
		ends[side], err = parties[side].finish(ctx)
		return err
	}); err != nil {
		return err
	}
	for i, end := range ends {
		c.take(g, i, end)
	}
	return nil
}

func (c *conductor) take(g *result.Generation, side int, end finished) {
	s := &g.Sides[side]
	s.Ledger, s.Open, s.RSSMB = end.ledger, end.open, end.rssMB
	c.takeProblems(g, side, end)
}

func (c *conductor) takeProblems(g *result.Generation, side int, end finished) {
	s := &g.Sides[side]
	for _, problem := range end.problems {
		fault(g, result.Incorrect, c.sides[side].Name+": "+problem)
	}
	if end.refused != "" {
		s.Faults = append(s.Faults, end.refused)
		fault(g, result.Invalid, c.sides[side].Name+": "+end.refused)
	}
	if open := end.open; open != nil {
		var j validity.Judgement
		j.Add("slip_ms_p99_max", open.SlipMsP99, c.scenario.Validity, " ms", func(shown string) string {
			return "the generator sent one in a hundred tasks of the open phase " + shown + " late or more"
		})
		for _, text := range append(j.Reasons, j.Warnings...) {
			g.Marks = append(g.Marks, c.sides[side].Name+": "+text)
		}
	}
}

// blame attributes an error of the load to a side. If a server ended unplanned, the generation is
// incorrect. Any other error makes the generation invalid. The gate later tests whether one side
// has more of these errors than the other.
func (c *conductor) blame(ctx context.Context, g *result.Generation, parties [2]party, err error) {
	for i, p := range parties {
		if failure := p.failure(); failure != nil {
			fault(g, result.Incorrect, fmt.Sprintf("%s: %v", c.sides[i].Name, failure))
		}
	}
	if ctx.Err() != nil || g.Verdict == result.Incorrect {
		return
	}
	of := sideErrors(err)
	if len(of) == 0 {
		fault(g, result.Invalid, err.Error())
	}
	for _, e := range of {
		g.Sides[e.side].Faults = append(g.Sides[e.side].Faults, e.Error())
		fault(g, result.Invalid, fmt.Sprintf("%s: the load failed: %v", c.sides[e.side].Name, e))
	}
}

// stop ends the processes of both sides concurrently, for whatever reason the generation ended. If
// a server does not stop cleanly, the generation is incorrect.
func (c *conductor) stop(ctx context.Context, g *result.Generation, parties [2]party) {
	ctx = context.WithoutCancel(ctx)
	var errs [2]error
	_ = atOnce(func(side int) error {
		if parties[side] != nil {
			errs[side] = parties[side].stop(ctx)
		}
		return nil
	})
	for i, err := range errs {
		if err != nil && !failed(g) {
			fault(g, result.Incorrect, fmt.Sprintf("%s: %v", c.sides[i].Name, err))
		}
	}
}

func fault(g *result.Generation, verdict result.Verdict, reason string) {
	g.Verdict = result.Worst(g.Verdict, verdict)
	g.Reasons = append(g.Reasons, reason)
}

func (c *conductor) show(g *result.Generation) {
	if g.Verdict != result.Pass {
		c.line("  generation %d: %s: %s", g.Number, g.Verdict, firstLine(g.Reasons))
		return
	}
	line := fmt.Sprintf("  generation %d, %.1f s:", g.Number, g.Seconds)
	for i, s := range g.Sides {
		cycles := float64(s.Cycles)
		line += fmt.Sprintf(" %s %s cycles/s, %s + %s µs CPU per cycle", c.sides[i].Name, render.Number(cycles/s.ActiveS),
			render.Number(float64(s.ServerCPUNs)/1e3/cycles), render.Number(float64(s.ClientCPUNs)/1e3/cycles))
		if s.Open != nil {
			line += fmt.Sprintf(", p99 %s ms", render.Number(s.Open.P99Ms))
		}
		if i == Base {
			line += ";"
		}
	}
	c.line("%s", line)
	if n := len(g.Marks); n > 0 {
		c.line("    %s, which the page lists", render.Plural(n, "disturbance"))
	}
}
