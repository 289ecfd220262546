package duet

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	// pointLength is the length of the closed phase of one point of a sweep. pointOpenPairs is the
	// number of pairs of slices in its open phase. A generation with seven points then takes some
	// eleven seconds, so that a few minutes are enough for the generations that an interval needs.
	pointLength    = 500 * time.Millisecond
	pointOpenPairs = 6
	// pointWarmupPairs is the number of slices per side before the measurement of a point. After
	// the first point the servers are warm, but each point has new generators.
	pointWarmupPairs = 6
)

func (c *conductor) swept() bool { return len(c.scenario.Points) > 0 }

// sweep runs the load of each point on both sides, with the points in random order, and judges the
// generation.
func (c *conductor) sweep(ctx context.Context, g *result.Generation, parties [2]party) (err error) {
	points := c.scenario.Points
	all := make([]result.GenerationPoint, len(points))
	p := c.pairs(g, parties)
	stop := c.signals(parties)
	for _, i := range p.order.Perm(len(points)) {
		all[i].Name = points[i].Name
		if err = c.point(ctx, g, p, i, &all[i]); err != nil {
			break
		}
	}
	signals := stop()
	if err != nil {
		return err
	}
	g.Points, g.Signals = all, &signals
	for i := range g.Sides {
		s := &g.Sides[i]
		for k := range all {
			of := &all[k].Sides[i]
			s.Cycles += of.Cycles
			s.ServerCPUNs += of.ServerCPUNs
			s.ClientCPUNs += of.ClientCPUNs
			s.IdleCPUNs += of.IdleCPUNs
			s.ActiveS += of.ActiveS
			s.RSSMB = max(s.RSSMB, of.RSSMB)
			addLedger(&s.Ledger, of.Ledger)
		}
	}
	c.judge(g)
	c.checkPoints(g)
	c.readCode(g, parties)
	return nil
}

func (c *conductor) point(ctx context.Context, g *result.Generation, p *pairs, i int, into *result.GenerationPoint) error {
	if err := atOnce(func(side int) error { return p.parties[side].begin(ctx, i) }); err != nil {
		return err
	}
	if err := p.warmUp(ctx, pointWarmupPairs); err != nil {
		return err
	}
	// This is a separate Generation, so that countersBetween adds the counters to the sides of this
	// point.
	at := &result.Generation{Number: g.Number, First: g.First}
	before := c.readCounters(ctx, at, p.parties)
	var err error
	if _, at.Sides, err = p.measure(ctx, pointLength); err != nil {
		return err
	}
	c.countersBetween(at, before, c.readCounters(ctx, at, p.parties))
	if into.OpenPerS = c.pointRate(into.Name, at.Sides[Base]); into.OpenPerS > 0 {
		if err := p.open(ctx, into.OpenPerS, pointOpenPairs); err != nil {
			return err
		}
	}
	var ends [2]finished
	if err := atOnce(func(side int) (err error) {
		ends[side], err = p.parties[side].finish(ctx)
		return err
	}); err != nil {
		return err
	}
	for side, end := range ends {
		s := &at.Sides[side]
		s.Ledger, s.Open, s.RSSMB = end.ledger, end.open, end.rssMB
		c.takeProblems(g, side, end)
	}
	into.Sides = at.Sides
	return nil
}

// pointRate returns the rate of arrivals of a point. It is openShare of the base's rate at that
// point. The base's rate is taken from the first generation in which the base completed a cycle at
// that point.
func (c *conductor) pointRate(name string, base result.GenerationSide) float64 {
	if c.rates == nil {
		c.rates = map[string]float64{}
	}
	if c.rates[name] == 0 && base.Cycles > 0 {
		c.rates[name] = openShare * float64(base.Cycles) / base.ActiveS
	}
	return c.rates[name]
}

func (c *conductor) checkPoints(g *result.Generation) {
	for _, p := range g.Points {
		for i := range p.Sides {
			if p.Sides[i].Cycles == 0 {
				reason := fmt.Sprintf("no cycle was completed in the closed phase of %s", p.Name)
				g.Sides[i].Faults = append(g.Sides[i].Faults, reason)
				fault(g, result.Invalid, c.sides[i].Name+": "+reason)
			}
		}
	}
}

// addLedger adds the tasks of another load to sum. Samples are copied only if sum has none.
func addLedger(sum *result.Ledger, l result.Ledger) {
	sum.Enqueued += l.Enqueued
	sum.Unknown += l.Unknown
	sum.Completed += l.Completed
	sum.InDoubt += l.InDoubt
	sum.Lost += l.Lost
	sum.Duplicated += l.Duplicated
	sum.Corrupted += l.Corrupted
	sum.Misrouted += l.Misrouted
	sum.Reordered += l.Reordered
	sum.Contested += l.Contested
	sum.Revoked += l.Revoked
	if len(sum.Samples) == 0 {
		sum.Samples = l.Samples
	}
}

// showPoints writes a line about a generation of a sweep: the ratios of change to base, and the
// remaining time.
func (c *conductor) showPoints(g *result.Generation, left time.Duration) {
	if g.Verdict != result.Pass {
		c.line("  generation %d: %s: %s", g.Number, g.Verdict, firstLine(g.Reasons))
		return
	}
	var rate, p95, n float64
	for _, p := range g.Points {
		base, change := p.Sides[Base], p.Sides[Change]
		rate += math.Log(float64(change.Cycles) / change.ActiveS * base.ActiveS / float64(base.Cycles))
		if base.Open != nil && change.Open != nil {
			p95 += math.Log(change.Open.P95Ms / base.Open.P95Ms)
			n++
		}
	}
	c.line("  generation %d, %.1f s, %d points: change to base: rate %.3f, p95 of a cycle %.3f; %v left", g.Number, g.Seconds, len(g.Points),
		math.Exp(rate/float64(len(g.Points))), math.Exp(p95/max(1, n)), max(0, left).Round(time.Second))
}
