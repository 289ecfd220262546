package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// CheckDuet judges the change of a duet by the limits, beside its base, which is the baseline build. last says that no further
// generation will be measured.
func CheckDuet(b *Baselines, d *result.Duet, last bool) Report {
	beside := &Beside{Commit: d.Sides[0].Commit, Pairs: PairsOf(d), Work: d.Work, Last: last}
	return CheckBeside(b, d.Result(1, ""), beside)
}

// ResamplePlan says how sets of duets are drawn.
type ResamplePlan struct {
	Sets    int // how many sets of scenarios
	PerLook int // generations until the first judgement, and between two
	Looks   int // judgements of a duet at most
	Seed    uint64
}

// Resampled counts verdicts on sets of duets drawn from measured generations.
type Resampled struct {
	Sets int `json:"sets"`
	// NotPassed counts sets of which at least one scenario did not pass.
	NotPassed int                 `json:"not_passed"`
	Scenarios []ResampledScenario `json:"scenarios"` // by name
}

// ResampledScenario counts verdicts on the drawn duets of one scenario.
type ResampledScenario struct {
	Scenario    string                 `json:"scenario"`
	Generations int                    `json:"generations"` // measured ones that were drawn from
	Drawn       int                    `json:"drawn"`       // generations of all sets
	Verdicts    map[result.Verdict]int `json:"verdicts"`
	// Reason is that of the first drawn duet that did not pass.
	Reason string `json:"reason,omitempty"`
}

// Resample estimates how often a set of scenarios does not pass, from far fewer measured sets: a bootstrap. Each set has a duet of every
// scenario that the duets measured. Its generations are drawn with replacement from all of that scenario, and its fixed work is that of one
// duet. The limits judge it after each look until they are decided. A duet without two generations that count is an error, since nothing can be drawn
// from it.
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
			return Resampled{}, fmt.Errorf("draw from %s: %d generations count, and one look needs %d: measure it again", name, of.Generations, plan.PerLook)
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

// drawing is what duets of one scenario are drawn from.
type drawing struct {
	duet        *result.Duet // whose manifest and sides a drawn duet has
	generations []result.Generation
	works       []*result.FixedWork // none: another scenario of the topology has it
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

// judged draws a duet and judges it, look after look.
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
