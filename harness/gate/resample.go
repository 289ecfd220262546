package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// CheckDuet judges the change of a duet against the limits, with the duet's base as the baseline
// build. last reports that no further generation will be measured.
func CheckDuet(b *Baselines, d *result.Duet, last bool) Report {
	beside := &Beside{Commit: d.Sides[0].Commit, Pairs: PairsOf(d), Work: d.Work, Last: last}
	return CheckBeside(b, d.Result(1, ""), beside)
}

// ResamplePlan contains the parameters of Resample.
type ResamplePlan struct {
	Sets    int // number of drawn sets of scenarios
	PerLook int // generations per look
	Looks   int // maximum number of judgements of a duet
	Seed    uint64
}

// Resampled counts verdicts on sets of duets drawn from measured generations.
type Resampled struct {
	Sets int `json:"sets"`
	// NotPassed counts sets with at least one scenario that did not pass.
	NotPassed int                 `json:"not_passed"`
	Scenarios []ResampledScenario `json:"scenarios"` // by name
}

// ResampledScenario counts verdicts on the drawn duets of one scenario.
type ResampledScenario struct {
	Scenario string `json:"scenario"`
	// Generations is the number of measured generations available for drawing.
	Generations int                    `json:"generations"`
	Drawn       int                    `json:"drawn"` // total over all sets
	Verdicts    map[result.Verdict]int `json:"verdicts"`
	// Reason is the reason of the first drawn duet that did not pass.
	Reason string `json:"reason,omitempty"`
}

// Resample is a bootstrap: it estimates from a few measured sets how often a set of scenarios does
// not pass. Each drawn set has one duet of every scenario in duets. The generations of a drawn duet
// are drawn with replacement from all generations of its scenario, and its fixed work is that of
// one measured duet. The drawn duet is judged against the limits after each look, until all limits
// are decided. Resample fails if a scenario has fewer generations than one look needs, because no
// duet can then be drawn from it.
func Resample(b *Baselines, duets []*result.Duet, plan ResamplePlan) (Resampled, error) {
	out := Resampled{Sets: plan.Sets}
	by := map[string][]*result.Duet{}
	for _, d := range duets {
		by[d.Scenario] = append(by[d.Scenario], d)
	}
	random := rand.New(rand.NewPCG(plan.Seed, 1))
	failed := make([]bool, plan.Sets)
	for _, name := range slices.Sorted(maps.Keys(by)) {
		of := ResampledScenario{Scenario: name, Verdicts: map[result.Verdict]int{}}
		source := newDrawing(by[name])
		of.Generations = len(source.generations)
		if of.Generations < plan.PerLook {
			return Resampled{}, fmt.Errorf("draw from %s: %d generations count, but one look needs %d: measure it again", name, of.Generations, plan.PerLook)
		}
		for i := range failed {
			d, report := source.judged(b, plan, random)
			of.Drawn += len(d.Generations)
			of.Verdicts[report.Verdict]++
			if report.Verdict != result.Pass {
				failed[i] = true
				if of.Reason == "" {
					of.Reason = strings.Join(report.Reasons, "; ")
				}
			}
		}
		out.Scenarios = append(out.Scenarios, of)
	}
	for _, f := range failed {
		if f {
			out.NotPassed++
		}
	}
	return out, nil
}

// drawing is the source of drawn duets of one scenario.
type drawing struct {
	duet        *result.Duet // supplies the manifest and sides of drawn duets
	generations []result.Generation
	works       []*result.FixedWork // empty if measured with another scenario of the topology
}

func newDrawing(duets []*result.Duet) drawing {
	s := drawing{duet: duets[0]}
	for _, d := range duets {
		s.generations = append(s.generations, d.Generations...)
		if d.Work != nil {
			s.works = append(s.works, d.Work)
		}
	}
	return s
}

func (s *drawing) judged(b *Baselines, plan ResamplePlan, random *rand.Rand) (*result.Duet, Report) {
	d := *s.duet
	d.Generations, d.Work = nil, nil
	if len(s.works) > 0 {
		d.Work = s.works[random.IntN(len(s.works))]
	}
	for look := 1; ; look++ {
		for range plan.PerLook {
			d.Generations = append(d.Generations, s.generations[random.IntN(len(s.generations))])
		}
		last := look >= plan.Looks
		if report := CheckDuet(b, &d, last); last || !report.Undecided() {
			return &d, report
		}
	}
}
