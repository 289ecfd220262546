package gate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// SelfTestVersion is that of SelfTest's schema.
const SelfTestVersion = 1

// SelfTest is the false-alarm rate and the power of the gate, measured by comparisons whose answer is known. It is stored as
// selftest.json, which the page is made from.
type SelfTest struct {
	Version      int             `json:"version"`
	Scenario     string          `json:"scenario"`
	Durability   string          `json:"durability"`
	Manifest     result.Manifest `json:"manifest"` // of the first segment
	Started      string          `json:"started"`
	Finished     string          `json:"finished"`
	Blocks       int             `json:"blocks"`
	BlockSeconds float64         `json:"block_seconds"` // of three arms
	Within       float64         `json:"within_seconds"`
	PerTest      int             `json:"blocks_per_comparison"`
	Alpha        float64         `json:"alpha"`
	Truths       []Truth         `json:"truths"`
	Spreads      []Spread        `json:"spreads"`
	Trials       []Trial         `json:"trials"`
	Counters     []Trial         `json:"counters"`
}

// Truth is the measured loss of an arm that was slowed, over all blocks, beside the identical arms.
type Truth struct {
	Arm      string  `json:"arm"`
	Planted  string  `json:"planted"`
	LossWant float64 `json:"loss_wanted"` // of the rate, as a part of 1
	Rate     Ratio   `json:"rate"`
	CPU      Ratio   `json:"cpu"`
}

// Ratio is a ratio with its confidence interval, as selftest.json stores it.
type Ratio struct {
	Ratio, Low, High float64
	N                int // blocks
	Warnings         []string
}

// Spread is how much a metric varies between identical arms.
type Spread struct {
	Metric string `json:"metric"`
	// Rounds is the standard deviation of the logarithms of all rounds of one arm, and Pairs that of the ratios within blocks.
	Rounds float64 `json:"rounds"`
	Pairs  float64 `json:"pairs"`
}

// Trial counts the verdicts of several comparisons of one kind.
type Trial struct {
	Arm string `json:"arm"` // that was the change, or of counters the metric
	// Disjoint says that no two comparisons share a block; others draw their blocks from the whole bank, and are not independent.
	Disjoint    bool                   `json:"disjoint"`
	Blocks      int                    `json:"blocks"` // of each comparison
	Comparisons int                    `json:"comparisons"`
	Regressed   int                    `json:"regressed"`
	Low         float64                `json:"low"` // 95 % interval of the share
	High        float64                `json:"high"`
	Verdicts    map[result.Verdict]int `json:"verdicts,omitempty"`
	// ByMetric counts the comparisons in which each metric was regressed.
	ByMetric map[string]int `json:"by_metric,omitempty"`
}

// Share returns the share of the comparisons that were regressed.
func (t Trial) Share() float64 {
	if t.Comparisons == 0 {
		return math.NaN()
	}
	return float64(t.Regressed) / float64(t.Comparisons)
}

func (t *Trial) add(c *result.Comparison) {
	t.Comparisons++
	t.Verdicts[c.Verdict]++
	if c.Verdict == result.Regressed {
		t.Regressed++
	}
	for _, d := range c.Metrics {
		if d.Outcome == result.Worsened {
			t.ByMetric[d.Metric]++
		}
	}
}

func (t *Trial) close() { t.Low, t.High = stat.WilsonInterval(t.Regressed, t.Comparisons) }

// Slow is an arm that was slowed down on purpose.
type Slow struct {
	Arm     string  `json:"arm"`
	Planted string  `json:"planted"` // how
	Loss    float64 `json:"loss"`    // of the rate that was wanted, as a part of 1
}

// SelfTestPlan says what the arms of a bank are and how they are compared.
type SelfTestPlan struct {
	Same   []string // three arms of the same binary, not slowed
	Slow   []Slow
	Within float64 // seconds of measuring that one comparison may take
	Drawn  int     // comparisons of each kind from blocks drawn at random, beside the disjoint ones
	Policy Policy
}

// CounterShift is by how much a self-test scales counters to see whether the gate calls that.
const CounterShift = 0.01

// RunSelfTest judges many comparisons drawn from one bank of blocks, in which all arms were measured beside each other. It is
// deterministic.
func RunSelfTest(bank []result.Arm, plan SelfTestPlan) (*SelfTest, error) {
	b, err := newBank(bank, plan)
	if err != nil {
		return nil, err
	}
	t := &SelfTest{
		Version: SelfTestVersion, Scenario: b.arms[0].Result.Scenario, Manifest: b.arms[0].Result.Manifest,
		Durability: b.arms[0].Result.Manifest.Durability(),
		Blocks:     len(b.numbers), Within: plan.Within, Alpha: plan.Policy.Alpha,
		Started:  b.arms[0].Result.Rounds[0].Started.UTC().Format("2006-01-02 15:04"),
		Finished: b.arms[0].Result.Rounds[len(b.numbers)-1].Started.UTC().Format("2006-01-02 15:04"),
	}
	if t.BlockSeconds, err = b.blockSeconds(); err != nil {
		return nil, err
	}
	t.PerTest = int(plan.Within / t.BlockSeconds)
	if t.PerTest < 2 || t.PerTest > t.Blocks {
		return nil, fmt.Errorf("a comparison of %.0f s has %d blocks of %.1f s, and the bank has %d: measure on", plan.Within, t.PerTest, t.BlockSeconds, t.Blocks)
	}
	if t.Truths, err = b.truths(); err != nil {
		return nil, err
	}
	t.Spreads = b.spreads()
	t.Trials = b.trials(t.PerTest)
	t.Counters = b.counters()
	return t, nil
}

// bank is all blocks, with the rounds of a block under one number in all arms.
type bank struct {
	plan    SelfTestPlan
	arms    []result.Arm // those the same first
	numbers []int
}

func newBank(arms []result.Arm, plan SelfTestPlan) (*bank, error) {
	if len(plan.Same) != 3 {
		return nil, fmt.Errorf("a self-test needs three arms that are the same, for base, change and control, not %d", len(plan.Same))
	}
	b := &bank{plan: plan}
	names := slices.Clone(plan.Same)
	for _, s := range plan.Slow {
		names = append(names, s.Arm)
	}
	for _, name := range names {
		at := slices.IndexFunc(arms, func(a result.Arm) bool { return a.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the bank has no arm %q", name)
		}
		b.arms = append(b.arms, arms[at])
	}
	for _, r := range b.arms[0].Result.Rounds {
		b.numbers = append(b.numbers, r.Number)
	}
	for _, a := range b.arms {
		if len(a.Result.Rounds) != len(b.numbers) || len(a.Histograms) != len(b.numbers) {
			return nil, fmt.Errorf("the bank's arm %q has %d rounds and %d histograms, and %q has %d rounds", a.Name,
				len(a.Result.Rounds), len(a.Histograms), b.arms[0].Name, len(b.numbers))
		}
	}
	if len(b.numbers) < 2 {
		return nil, errors.New("the bank has fewer than two blocks")
	}
	return b, nil
}

// JoinSegments makes one bank of segments that were measured one after the other. It keeps the timed rounds of blocks that all arms have,
// and numbers the blocks from 1.
func JoinSegments(segments [][]result.Arm) []result.Arm {
	var joined []result.Arm
	next := 1
	for _, arms := range segments {
		has := map[int]int{}
		for _, a := range arms {
			for _, r := range a.Result.Rounds {
				if r.Timed() && r.Verdict == result.Pass {
					has[r.Number]++
				}
			}
		}
		added := 0
		for i, a := range arms {
			if i >= len(joined) {
				whole := *a.Result
				whole.Rounds, whole.Profiles = nil, nil
				joined = append(joined, result.Arm{Name: a.Name, Path: a.Path, Result: &whole})
			}
			added = 0
			for _, r := range a.Result.Rounds {
				if has[r.Number] != len(arms) || !r.Timed() {
					continue
				}
				for _, h := range a.Histograms {
					if h.Round == r.Number {
						h.Round, r.Number = next+added, next+added
						joined[i].Histograms = append(joined[i].Histograms, h)
						joined[i].Result.Rounds = append(joined[i].Result.Rounds, r)
						added++
						break
					}
				}
			}
		}
		next += added
	}
	return joined
}

// blockSeconds is how long three arms of a block take, servers started and stopped: from the start of a block to that of the next, the median of all.
func (b *bank) blockSeconds() (float64, error) {
	first := func(i int) (at float64) {
		at = math.Inf(1)
		for _, a := range b.arms {
			at = min(at, float64(a.Result.Rounds[i].Started.UnixNano())/1e9)
		}
		return at
	}
	var took []float64
	for i := range len(b.numbers) - 1 {
		took = append(took, first(i+1)-first(i))
	}
	s, err := stat.Summarise(took)
	if err != nil || s.Center <= 0 {
		return 0, fmt.Errorf("the blocks of the bank have no length: %v s: %w", s.Center, err)
	}
	return s.Center * 3 / float64(len(b.arms)), nil
}

func (b *bank) values(arm int, metric string) []float64 {
	var values []float64
	for _, r := range b.arms[arm].Result.Rounds {
		if v, has := r.Metrics[metric]; has {
			values = append(values, v)
		}
	}
	return values
}

func (b *bank) truths() ([]Truth, error) {
	var truths []Truth
	for i, slow := range b.plan.Slow {
		t := Truth{Arm: slow.Arm, Planted: slow.Planted, LossWant: slow.Loss}
		for metric, into := range map[string]*Ratio{result.CyclesPerS: &t.Rate, result.CPUUsPerCycle: &t.CPU} {
			logs, err := stat.LogRatios(b.values(3+i, metric), b.values(0, metric), b.values(1, metric), b.values(2, metric))
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", metric, slow.Arm, err)
			}
			s, err := stat.PairedRatio(logs, b.plan.Policy.Resamples)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", metric, slow.Arm, err)
			}
			*into = Ratio{Ratio: s.Center, Low: s.Low, High: s.High, N: s.N, Warnings: s.Warnings}
		}
		truths = append(truths, t)
	}
	return truths, nil
}

func (b *bank) spreads() []Spread {
	var spreads []Spread
	for _, m := range b.plan.Policy.Metrics {
		a, other := b.values(0, m.Metric), b.values(1, m.Metric)
		pairs, err := stat.LogRatios(a, other)
		if err != nil {
			continue // not measured here, or it may be 0
		}
		logs := make([]float64, len(a))
		for i, v := range a {
			logs[i] = math.Log(v)
		}
		s := Spread{Metric: m.Metric}
		var errRounds, errPairs error
		s.Rounds, errRounds = stat.StdDev(logs)
		s.Pairs, errPairs = stat.StdDev(pairs)
		if errRounds == nil && errPairs == nil {
			spreads = append(spreads, s)
		}
	}
	return spreads
}

// take returns an arm with these blocks only, under the name given.
func (b *bank) take(arm int, name string, blocks []int) result.Arm {
	of := b.arms[arm]
	part := *of.Result
	part.Rounds = nil
	a := result.Arm{Name: name, Path: of.Path, Result: &part}
	for _, i := range blocks {
		part.Rounds = append(part.Rounds, of.Result.Rounds[i])
		a.Histograms = append(a.Histograms, of.Histograms[i])
	}
	part.Verdict, part.Reasons = result.Pass, nil
	return a
}

// compare judges one arm against two that are the same as each other, over some blocks. turn says which of these is base and which is control.
func (b *bank) compare(change, turn int, blocks []int) *result.Comparison {
	var same []int
	for i := range 3 {
		if at := (turn + i) % 3; at != change {
			same = append(same, at)
		}
	}
	control := b.take(same[1], controlArm, blocks)
	return Compare(b.take(same[0], baseArm, blocks), b.take(change, changeArm, blocks), &control, true, b.plan.Policy)
}

// sets returns the disjoint sets of n consecutive blocks.
func (b *bank) sets(n int) [][]int {
	var sets [][]int
	for from := 0; from+n <= len(b.numbers); from += n {
		set := make([]int, n)
		for i := range set {
			set[i] = from + i
		}
		sets = append(sets, set)
	}
	return sets
}

// trials judges each kind of change: one of the identical arms, and each slowed one.
func (b *bank) trials(n int) []Trial {
	kinds := []struct {
		name string
		arm  int
	}{{"identical", 0}}
	for i, s := range b.plan.Slow {
		kinds = append(kinds, struct {
			name string
			arm  int
		}{s.Arm, 3 + i})
	}
	var trials []Trial
	for _, kind := range kinds {
		change := func(turn int) int {
			if kind.arm < 3 {
				return turn % 3
			}
			return kind.arm
		}
		disjoint := newTrial(kind.name, true, n)
		for turn, blocks := range b.sets(n) {
			disjoint.add(b.compare(change(turn), turn, blocks))
		}
		disjoint.close()
		trials = append(trials, disjoint)
		if b.plan.Drawn <= 0 {
			continue
		}
		drawn := newTrial(kind.name, false, n)
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for turn := range b.plan.Drawn {
			blocks := random.Perm(len(b.numbers))[:n]
			slices.Sort(blocks)
			drawn.add(b.compare(change(turn), turn, blocks))
		}
		drawn.close()
		trials = append(trials, drawn)
	}
	return trials
}

func newTrial(arm string, disjoint bool, n int) Trial {
	return Trial{Arm: arm, Disjoint: disjoint, Blocks: n, Verdicts: map[result.Verdict]int{}, ByMetric: map[string]int{}}
}

// counters judges each counter over three blocks: as it is, and with the change's figures scaled by one percent.
func (b *bank) counters() []Trial {
	var trials []Trial
	for _, m := range b.plan.Policy.Metrics {
		values := b.values(0, m.Metric)
		if !m.Counter || len(values) != len(b.numbers) || slices.Max(values) == 0 {
			continue
		}
		for _, shift := range []float64{0, CounterShift} {
			name := m.Metric
			if shift > 0 {
				name = fmt.Sprintf("%s, %+.0f %%", m.Metric, 100*shift)
			}
			t := newTrial(name, true, CounterRoundsMin)
			for turn, blocks := range b.sets(CounterRoundsMin) {
				t.add(b.compareCounter(m, shift, turn, blocks))
			}
			t.close()
			trials = append(trials, t)
		}
	}
	return trials
}

// compareCounter judges one counter of identical arms, of which one is scaled.
func (b *bank) compareCounter(m Judged, shift float64, turn int, blocks []int) *result.Comparison {
	base, change, control := b.take(turn%3, baseArm, blocks), b.take((turn+1)%3, changeArm, blocks), b.take((turn+2)%3, controlArm, blocks)
	for i := range change.Result.Rounds {
		r := &change.Result.Rounds[i]
		r.Metrics = map[string]float64{m.Metric: r.Metrics[m.Metric] * (1 + shift)}
	}
	m.Required = false
	return Compare(base, change, &control, true, Policy{Alpha: b.plan.Policy.Alpha, Metrics: []Judged{m}, Resamples: b.plan.Policy.Resamples})
}
