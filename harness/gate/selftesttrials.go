package gate

import (
	"math/rand/v2"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Trial contains the gate's verdicts on duets of one kind. Each trial is a whole duet as `prony
// compare` measures it: it is judged after each look, and ends when the gate has decided, or after
// Looks looks.
type Trial struct {
	Looks int `json:"looks"` // maximum
	// Disjoint trials share no generation. Other trials draw their generations from all generations
	// of the kind, so they are not independent.
	Disjoint bool                   `json:"disjoint"`
	Trials   int                    `json:"trials"`
	Verdicts map[result.Verdict]int `json:"verdicts"`
	// Timings counts the trials with a regressed primary, regardless of the counters of fixed work.
	Timings int `json:"timings"`
	// ByMetric counts the trials with a regression by metric.
	ByMetric map[string]int `json:"by_metric"`
	// Low and High are the 95 % confidence interval (Wilson) of the regressed share, and PassLow
	// and PassHigh the interval of the passed share. They are 0 for trials that are not disjoint.
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
	PassLow  float64 `json:"pass_low,omitempty"`
	PassHigh float64 `json:"pass_high,omitempty"`
}

// Red returns the number of trials in which the gate accused the change: of a regression or an
// incorrect side.
func (t Trial) Red() int { return t.Verdicts[result.Regressed] + t.Verdicts[result.Incorrect] }

// trials judges the trials of one look and of all looks that can be formed from pieces of one kind.
func trials(pieces []SelfTestPiece, plan SelfTestPlan, seed uint64) (all []Trial) {
	for _, looks := range slices.Compact([]int{1, plan.Policy.Looks}) {
		disjoint := Trial{Looks: looks, Disjoint: true}
		for of := range slices.Chunk(pieces, looks) {
			if len(of) == looks {
				disjoint.add(decide(of, plan.Policy))
			}
		}
		if disjoint.Trials > 0 {
			disjoint.Low, disjoint.High = stat.WilsonInterval(disjoint.Red(), disjoint.Trials)
			disjoint.PassLow, disjoint.PassHigh = stat.WilsonInterval(disjoint.Verdicts[result.Pass], disjoint.Trials)
			all = append(all, disjoint)
		}
		if drawn := draw(pieces, looks, plan, seed); drawn.Trials > 0 {
			all = append(all, drawn)
		}
	}
	return all
}

// withCode returns the pieces whose valid generations all report how the kernel maps the program
// code of both sides.
func withCode(pieces []SelfTestPiece) (with []SelfTestPiece) {
	for _, p := range pieces {
		count, say := 0, 0
		for _, g := range p.Duet.Generations {
			if g.Verdict == result.Pass {
				count++
				if g.Sides[0].ServerCode != nil && g.Sides[1].ServerCode != nil {
					say++
				}
			}
		}
		if count > 0 && say == count {
			with = append(with, p)
		}
	}
	return with
}

func decide(looks []SelfTestPiece, policy DuetPolicy) (c *result.Comparison) {
	for i := range looks {
		if c = JudgeDuet(join(looks[:i+1]...), i+1, policy); c.Duet.Decided {
			break
		}
	}
	return c
}

// drawnTwice is the minimum number of generations in a bank, as a multiple of those in a trial. It
// ensures that drawn trials differ from each other.
const drawnTwice = 2

// draw judges trials of generations that are drawn at random from all pieces, each at most once per
// trial, with the fixed work of one piece. It returns no trials if there are too few generations.
func draw(pieces []SelfTestPiece, looks int, plan SelfTestPlan, seed uint64) Trial {
	t := Trial{Looks: looks}
	whole := join(pieces...)
	each := len(whole.Generations) / len(pieces) // of one look
	if each == 0 || len(whole.Generations) < drawnTwice*looks*each {
		return t
	}
	var works []*result.FixedWork
	for _, p := range pieces {
		if p.Duet.Work != nil {
			works = append(works, p.Duet.Work)
		}
	}
	random := rand.New(rand.NewPCG(seed, uint64(looks)))
	for range plan.Drawn {
		var work *result.FixedWork // of the whole trial, as in a duet
		if len(works) > 0 {
			work = works[random.IntN(len(works))]
		}
		order := random.Perm(len(whole.Generations))
		of := make([]SelfTestPiece, looks)
		for i := range of {
			d := *whole
			d.Work = work
			d.Generations = make([]result.Generation, each)
			for j := range d.Generations {
				d.Generations[j] = whole.Generations[order[i*each+j]]
			}
			of[i].Duet = &d
		}
		t.add(decide(of, plan.Policy))
	}
	return t
}

func (t *Trial) add(c *result.Comparison) {
	if t.Verdicts == nil {
		t.Verdicts, t.ByMetric = map[result.Verdict]int{}, map[string]int{}
	}
	t.Trials++
	t.Verdicts[c.Verdict]++
	timings := false
	for _, d := range c.Metrics {
		if d.Outcome == result.Worsened {
			t.ByMetric[d.Metric]++
			timings = timings || d.Loss != nil
		}
	}
	if timings {
		t.Timings++
	}
}
