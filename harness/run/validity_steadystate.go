package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
	"github.com/pronybench/prony/harness/validity"
)

const (
	// rateParts is the number of equal parts of the warm-up, and of the window. It is large enough
	// to distinguish a trend from chance, and small enough that each part contains many cycles.
	rateParts = 20
	// rateCyclesMin is a number of cycles per part. If the average part has fewer, the rates are
	// too noisy to judge.
	rateCyclesMin = 10
	// rateEveryLeast is the minimum interval between two readings of the accounts.
	rateEveryLeast = time.Millisecond
	// countedPart is the length of the first parts of a window that ends after a number of tasks.
	// The total length of such a window is not known in advance.
	countedPart = 10 * time.Millisecond
	// settledParts is the number of parts at the end of the warm-up that settled examines. It
	// ignores earlier parts because they include the launch, in which producers start one after the
	// other.
	settledParts = 12
)

// steadiness samples the completed and outstanding tasks. It starts before the launch of the load
// and ends at the end of the window. It stores the last parts of the warm-up and all parts of the
// window. On nil, start, stop, fill, judge and balances do nothing.
type steadiness struct {
	phases  scenario.Phases
	counted func() count
	took    time.Duration // actual duration of the warm-up; set after the load

	stopWarmup, stopWindow func()
	warmup, window         *rateSeries
}

// rateSeries contains counts sampled at equal intervals, which are called parts. If doubles is
// false, it stores only the last rateParts parts. If doubles is true, it covers the whole time:
// whenever it contains 2*rateParts parts, it merges pairs of neighbours, and later parts are twice
// as long.
type rateSeries struct {
	doubles bool

	mu     sync.Mutex // guards counts
	counts []count    // the first count is taken at the start of the first part
}

func startSeriesAt(from count) *rateSeries { return &rateSeries{counts: []count{from}} }

// add appends the count at the end of a part. It ignores a count that is not later than the last
// one. It reports whether the length of the parts has doubled.
func (s *rateSeries) add(now count) (doubled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.at.After(s.counts[len(s.counts)-1].at) {
		return false
	}
	s.counts = append(s.counts, now)
	switch parts := len(s.counts) - 1; {
	case !s.doubles && parts > rateParts:
		s.counts = slices.Delete(s.counts, 0, 1)
	case s.doubles && parts == 2*rateParts:
		for i := range rateParts + 1 {
			s.counts[i] = s.counts[2*i]
		}
		s.counts = s.counts[:rateParts+1]
		return true
	}
	return false
}

func (s *rateSeries) rates() (all []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, now := range s.counts[1:] {
		all = append(all, now.perSecondSince(s.counts[i]))
	}
	return all
}

func (s *rateSeries) total() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[len(s.counts)-1].completed - s.counts[0].completed
}

// watchRates starts to sample the warm-up. The caller must call stop.
func watchRates(phases scenario.Phases, counted func() count) *steadiness {
	s := &steadiness{phases: phases, counted: counted}
	s.warmup = startSeriesAt(counted())
	s.stopWarmup = s.every(s.part(), s.warmup, math.MaxInt)
	return s
}

func (s *steadiness) part() time.Duration { return max(s.phases.Warmup/rateParts, rateEveryLeast) }

// every adds a sample to a series at the end of each part. It stops after the given number of
// samples, or when the returned function is called. That function waits for the sampling goroutine
// and may be called repeatedly.
func (s *steadiness) every(part time.Duration, into *rateSeries, times int) (stop func()) {
	part = max(part, rateEveryLeast)
	next := time.Now().Add(part)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for range times {
			timer := time.NewTimer(time.Until(next))
			select {
			case <-timer.C:
				if into.add(s.counted()) {
					part *= 2
				}
				next = next.Add(part)
			case <-quit:
				timer.Stop()
				return
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(quit) })
		<-done
	}
}

// settled reports whether the rate was steady in the last parts of the warm-up so far. It is steady
// if its trend does not exceed the default limit. settled also returns true if there are too few
// cycles to judge, so that the warm-up does not wait.
func (s *steadiness) settled() bool {
	rates := s.warmup.tail(settledParts)
	trend, err := stat.FindTrend(rates)
	if err != nil || mean(rates)*s.part().Seconds() < rateCyclesMin {
		return true
	}
	return !trend.Significant() || math.Abs(trend.Percent) <= scenario.TrendPercentDefault
}

func (s *rateSeries) tail(n int) []float64 {
	rates := s.rates()
	return rates[max(0, len(rates)-n):]
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

func (s *steadiness) start(context.Context, time.Time) error {
	if s == nil {
		return nil
	}
	s.stopWarmup()
	s.window = startSeriesAt(s.counted())
	if s.phases.Tasks > 0 {
		s.window.doubles = true
		s.stopWindow = s.every(countedPart, s.window, math.MaxInt)
		return nil
	}
	s.stopWindow = s.every(s.phases.Window/rateParts, s.window, rateParts-1)
	return nil
}

// stop ends all sampling. It adds the last part of the window, unless the round is aborted or the
// parts have a doubling length: the last part would then be shorter than the others.
func (s *steadiness) stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.stopWarmup()
	if s.stopWindow == nil {
		return nil
	}
	s.stopWindow()
	if !s.window.doubles && ctx.Err() == nil {
		s.window.add(s.counted())
	}
	return nil
}

// fill does nothing: judgeHost judges the rates when the cycles are known.
func (s *steadiness) fill(*measured) error { return nil }

// steadyLoad reports whether the rate of the workloads should be constant.
func steadyLoad(workloads []scenario.Workload) bool {
	steady := false
	for _, w := range workloads {
		switch w.Arrivals.Kind {
		case scenario.Closed, scenario.Open:
			steady = true
		case scenario.None:
		default:
			return false
		}
	}
	return steady
}

// judge judges whether the rate was steady in the window. It returns nil if there are too few
// cycles.
func (s *steadiness) judge() *result.Warmup {
	if s == nil || s.window == nil {
		return nil
	}
	rates := s.window.rates()
	if s.window.total() < uint64(len(rates)*rateCyclesMin) {
		return nil
	}
	trend, err := stat.FindTrend(rates)
	if err != nil { // there are few parts, or most have no cycle
		return nil
	}
	w := &result.Warmup{Stationary: true, TrendPercent: trend.Percent, PValue: trend.P, WarmupS: s.took.Seconds()}
	if before, err := stat.FindTrend(s.warmup.tail(settledParts)); err == nil {
		w.WarmupTrendPercent = &before.Percent
	}
	if trend.Significant() && math.Abs(trend.Percent) > scenario.TrendPercentDefault {
		w.Stationary = false
		w.Reason = trendText(trend)
	}
	return w
}

func trendText(t stat.Trend) string {
	how, advice := "rose", ": the window measured a warm-up; raise phases.warmup"
	if t.Percent < 0 {
		how, advice = "fell", ": something fills up, or the host slowed down"
	}
	return fmt.Sprintf("the rate %s by %.3g %% over the window (p = %.1g)%s", how, math.Abs(t.Percent), t.P, advice)
}

func judgeTrend(j *validity.Judgement, w *result.Warmup, v scenario.Validity) {
	if w == nil || w.PValue >= stat.TrendAlpha {
		return
	}
	t := stat.Trend{Percent: w.TrendPercent, P: w.PValue}
	how := "rose"
	if t.Percent < 0 {
		how = "fell"
	}
	j.Add("trend_percent_max", math.Abs(t.Percent), v, " %", func(shown string) string {
		return "the rate " + how + " by " + shown + " over the window, more than chance explains"
	})
}
