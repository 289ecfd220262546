package duet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

const (
	// profiledAgain bounds how many profiled generations are measured again because one was
	// invalid.
	profiledAgain = 2
	// causesLength is the length of the closed phase of a profiled generation that is needed to
	// find causes. In other generations it is closedLength. A CPU profile has one sample per 10 ms
	// of CPU time. A server that uses half a CPU in its slices therefore has some 300 samples in 10
	// s.
	causesLength = 10 * time.Second
	// profiledWithin bounds the total time of the profiled generations. At least two are measured,
	// because the spread of fewer is unknown.
	profiledWithin = 2 * time.Minute
)

// profiles contains the captures of the profiled generations. Each side has a separate run folder.
type profiles struct {
	folders  [2]*result.Folder
	results  [2]*result.Result
	captured [2][]profile.Captured
}

// profile measures the profiled generations that are needed and stores a result for each side. If a
// side fails in a generation, the duet ends.
func (c *conductor) profile(ctx context.Context) error {
	wanted := c.scenario.Profiles()
	if c.options.ProfileLosses {
		wanted = 0
	}
	length := closedLength
	if c.options.Profiled != nil && len(c.scenario.Captures) > 0 {
		if needed := c.options.Profiled(c.duet); needed > 0 {
			wanted, length = max(wanted, needed), causesLength
		}
	}
	if wanted == 0 {
		return nil
	}
	p, err := c.newProfiles()
	if err != nil {
		return err
	}
	c.line("%s: %d profiled generations of some %.0f s each, in %v at most", c.scenario.Name, wanted, (length + startLength).Seconds(), profiledWithin)
	number, counted := len(c.duet.Generations), 0
	began, longest := c.now(), time.Duration(0)
	defer func() { c.duet.ProfiledS = c.now().Sub(began).Seconds() }()
	for tries := 0; counted < wanted && tries < wanted+profiledAgain; tries++ {
		started := c.now()
		if tries >= generationsMin && started.Sub(began)+longest > profiledWithin {
			c.warn(fmt.Sprintf("%d of %d profiled generations were measured: more would have taken longer than %v", counted, wanted, profiledWithin))
			break
		}
		number++
		g := c.plan(number)
		c.generation(ctx, g, func(ctx context.Context, g *result.Generation, parties [2]party) error {
			return c.profiled(ctx, g, parties, p, length)
		})
		longest = max(longest, c.now().Sub(started))
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in profiled generation %d: %w", number, ctx.Err())
		}
		switch {
		case failed(g):
			c.duet.Generations = append(c.duet.Generations, *g)
			c.show(g)
			return nil
		case g.Verdict == result.Pass:
			counted++
			c.line("  generation %d (profiled), %.1f s", number, g.Seconds)
		default:
			c.warn(fmt.Sprintf("profiled generation %d: %s", number, firstLine(g.Reasons)))
			c.show(g)
		}
	}
	return c.storeProfiles(p)
}

func (c *conductor) newProfiles() (*profiles, error) {
	var p profiles
	for i, side := range c.sides {
		folder, err := result.Create(c.folder.Path(), side.Name)
		if err != nil {
			return nil, err
		}
		manifest := c.duet.Manifest
		manifest.Build = side.Build
		manifest.Build.GoVersion, manifest.Build.Server = c.duet.Manifest.Build.GoVersion, c.duet.Sides[i].Servers[0]
		p.folders[i] = folder
		p.results[i] = &result.Result{
			Version: result.Version, Run: folder.ID(), Scenario: c.scenario.Name, Title: c.scenario.Title, Started: c.duet.Started,
			Manifest: manifest, Verdict: result.Pass, Metrics: map[string]result.Metric{}, Rounds: c.duet.Rounds(i),
		}
	}
	return &p, nil
}

// profiled runs the closed load on both sides for the given length, while their processes are
// profiled.
func (c *conductor) profiled(ctx context.Context, g *result.Generation, parties [2]party, into *profiles, length time.Duration) error {
	p := c.pairs(g, parties)
	if err := p.warmUp(ctx, warmupPairs); err != nil {
		return err
	}
	var recordings [2]recording
	err := atOnce(func(side int) (err error) {
		recordings[side], err = parties[side].profile(ctx, c.scenario.Captures, func() profile.Mark {
			return profile.Mark{At: time.Now(), Cycles: p.cycles[side]}
		})
		return err
	})
	stop := c.signals(parties)
	began := time.Now()
	if err == nil {
		g.Slices, g.Sides, err = p.measure(ctx, length)
	}
	signals := stop()
	var all [2]recorded
	stopErr := atOnce(func(side int) (err error) {
		if recordings[side] != nil {
			all[side], err = recordings[side].stop(ctx, into.folders[side].Path(), g.Number, began)
		}
		return err
	})
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	g.Signals = &signals
	c.judge(g)
	if err := c.finish(ctx, g, parties); err != nil {
		return err
	}
	if g.Verdict != result.Pass {
		return nil
	}
	for side, r := range all {
		round := g.Round(side)
		round.Profiled, round.Covered = true, r.covered
		into.results[side].Rounds = append(into.results[side].Rounds, round)
		into.captured[side] = append(into.captured[side], r.captured...)
		for _, warning := range r.warnings {
			c.warn(c.sides[side].Name + ": " + warning)
		}
	}
	return nil
}

// storeProfiles merges the profiles of each side over all generations and stores the side's result.
func (c *conductor) storeProfiles(p *profiles) error {
	for i, r := range p.results {
		var err error
		if r.Profiles, r.Locks, err = profile.Merge(p.folders[i].Path(), p.captured[i]); err != nil {
			return fmt.Errorf("%s: %w", c.sides[i].Name, err)
		}
		r.Finished = time.Now()
		if err := p.folders[i].StoreArm(r, nil); err != nil {
			return err
		}
	}
	return nil
}
