package gate

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Significance levels of the test whether the change causes invalid generations.
const (
	faultsAlpha   = 0.005 // the change is regressed
	faultsSuspect = 0.05  // the change does not pass
)

// count separates the valid generations from the excluded ones, and records the reasons.
func (j *duetJudgement) count(d *result.Duet) {
	c := j.c
	for _, g := range d.Generations {
		name := fmt.Sprintf("generation %d", g.Number)
		for _, mark := range g.Marks {
			c.Duet.Marks = append(c.Duet.Marks, name+": "+mark)
		}
		verdict, reasons := g.Verdict, g.Reasons
		for i, s := range g.Sides {
			if l := s.Ledger; l.Lost+l.Duplicated+l.Corrupted+l.Misrouted+l.Reordered > 0 {
				verdict = result.Worst(verdict, result.Incorrect)
				reasons = append(reasons[:len(reasons):len(reasons)], fmt.Sprintf("%s: %d tasks lost, %d duplicated, %d corrupted, %d misrouted, %d reordered",
					sideName(i), l.Lost, l.Duplicated, l.Corrupted, l.Misrouted, l.Reordered))
			}
		}
		switch verdict {
		case result.Pass:
			j.generations = append(j.generations, g)
		case result.Incorrect, result.Misconfigured:
			fail(c, verdict, fmt.Sprintf("%s is %s: %s", name, verdict, strings.Join(reasons, "; ")))
		default:
			if len(reasons) == 0 {
				reasons = []string{fmt.Sprintf("its verdict is %q", verdict)}
			}
			c.Duet.Invalid = append(c.Duet.Invalid, name+": "+strings.Join(reasons, "; "))
		}
	}
	c.Blocks, c.Dropped = len(j.generations), len(c.Duet.Invalid)
	c.Base.Rounds, c.Change.Rounds = c.Blocks, c.Blocks
}

// faults tests whether the change causes invalid generations. If the builds do not differ, a fault
// that affects one side alone is equally likely on either side, so the number on the change's side
// is binomial. If this number is significant at the level faultsAlpha, the change has regressed. If
// it is significant only at the level faultsSuspect, the verdict is inconclusive.
func (j *duetJudgement) faults(d *result.Duet) {
	var alone [2]int
	for _, g := range d.Generations {
		if g.Verdict == result.Pass {
			continue
		}
		base, change := len(g.Sides[0].Faults) > 0, len(g.Sides[1].Faults) > 0
		switch {
		case base && !change:
			alone[0]++
		case change && !base:
			alone[1]++
		}
	}
	p := stat.AtLeast(alone[1], alone[0]+alone[1], 0.5)
	text := fmt.Sprintf("%d of %d generations do not count because of the change alone, and %d because of the base alone (%s)",
		alone[1], len(d.Generations), alone[0], pText(p))
	switch {
	case p <= faultsAlpha:
		fail(j.c, result.Regressed, text+": the change makes them fail")
	case p <= faultsSuspect:
		fail(j.c, result.Inconclusive, text+": the change may be at fault")
	case j.c.Dropped > 0:
		j.c.Warnings = append(j.c.Warnings, fmt.Sprintf("%d of %d generations do not count: %s", j.c.Dropped, len(d.Generations), strings.Join(j.c.Duet.Invalid, "; ")))
	}
}
