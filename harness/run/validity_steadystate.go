package run

import (
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
	// rateParts is in how many parts of equal time the warm-up and the window are divided: enough to tell a trend from
	// chance, and each long enough to hold many cycles.
	rateParts = 20
	// rateCyclesMin is how many cycles a part needs on average for its rate to say anything.
	rateCyclesMin = 10
	// rateEveryLeast bounds how often the accounts are asked.
	rateEveryLeast = time.Millisecond
	// settledParts are those of the warm-up's end that are looked at to tell whether it has done its work. The parts before them
	// have the launch in them, in which producers begin one after the other.
	settledParts = 12
)

// steadiness samples how many tasks were completed and outstanding, from before the load is launched to the window's end: of the
// warm-up the last parts, of the window all. A nil one does nothing.
type steadiness struct {
	phases  scenario.Phases
	counted func() count
	took    time.Duration // how long the warm-up went on; known after the round's load

	stopWarmup, stopWindow func()
	warmup, window         *rateSeries
}

// rateSeries are the rates of the last parts of a time, and the outstanding tasks at their ends.
type rateSeries struct {
	mu          sync.Mutex  // guards the rest while samples are taken
	rates       []float64   // per second; at most rateParts
	outstanding [][]float64 // of each workload, at the end of each part; at most rateParts
	total       uint64      // cycles in these
	last        count
}

func startSeriesAt(from count) *rateSeries { return &rateSeries{last: from} }

// add enters what was completed since the last count; of one that is of no later time nothing is known.
func (s *rateSeries) add(now count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.at.After(s.last.at) {
		return
	}
	if len(s.rates) == rateParts {
		s.rates = slices.Delete(s.rates, 0, 1)
		s.outstanding = slices.Delete(s.outstanding, 0, 1)
	}
	s.rates = append(s.rates, now.perSecondSince(s.last))
	s.outstanding = append(s.outstanding, now.outstanding)
	s.total += now.completed - s.last.completed
	s.last = now
}

// watchRates begins in the warm-up; the caller must call stop.
func watchRates(phases scenario.Phases, counted func() count) *steadiness {
	s := &steadiness{phases: phases, counted: counted}
	s.warmup = startSeriesAt(counted())
	s.stopWarmup = s.every(s.part(), s.warmup, math.MaxInt)
	return s
}

// part is that of the warm-up.
func (s *steadiness) part() time.Duration { return max(s.phases.Warmup/rateParts, rateEveryLeast) }

// every samples into a series, up to a number of times, until the function that it returns is called.
func (s *steadiness) every(part time.Duration, into *rateSeries, times int) (stop func()) {
	began := time.Now()
	part = max(part, rateEveryLeast)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; i <= times; i++ {
			timer := time.NewTimer(time.Until(began.Add(time.Duration(i) * part)))
			select {
			case <-timer.C:
				into.add(s.counted())
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

// settled reports whether the rate had no trend beyond the default limit in the last parts of the warm-up so far. Where too few
// cycles tell, it is not waited for.
func (s *steadiness) settled() bool {
	rates := s.warmup.tail(settledParts)
	trend, err := stat.FindTrend(rates)
	if err != nil || mean(rates)*s.part().Seconds() < rateCyclesMin {
		return true
	}
	return !trend.Significant() || math.Abs(trend.Percent) <= scenario.TrendPercentDefault
}

// tail returns the rates of the last parts.
func (s *rateSeries) tail(n int) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rates[max(0, len(s.rates)-n):])
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// windowBegins comes at the window's start.
func (s *steadiness) windowBegins() {
	if s == nil {
		return
	}
	s.stopWarmup()
	s.window = startSeriesAt(s.counted())
	s.stopWindow = s.every(s.phases.Window/rateParts, s.window, rateParts-1)
}

// windowEnds comes at the window's end, and takes its last part.
func (s *steadiness) windowEnds() {
	if s == nil {
		return
	}
	s.stopWindow()
	s.window.add(s.counted())
}

// stop ends what is under way; it may be called at any time, and again.
func (s *steadiness) stop() {
	if s == nil {
		return
	}
	s.stopWarmup()
	if s.stopWindow != nil {
		s.stopWindow()
	}
}

// steadyLoad reports whether the workloads have a rate that should not change.
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

// judge says whether the rate was steady, or nil where too few cycles tell.
func (s *steadiness) judge() *result.Warmup {
	if s == nil || s.window == nil || s.window.total < rateParts*rateCyclesMin {
		return nil
	}
	trend, err := stat.FindTrend(s.window.rates)
	if err != nil { // most parts had no cycle at all
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
	how, advice := "rose", ": what the window measured was still warming up; a longer phases.warmup helps"
	if t.Percent < 0 {
		how, advice = "fell", ": something fills up, or the host slowed down"
	}
	return fmt.Sprintf("the rate %s by %.3g %% over the window (p = %.1g)%s", how, math.Abs(t.Percent), t.P, advice)
}

// judgeTrend holds the trend against the scenario's limit.
func judgeTrend(j *validity.Judgement, w *result.Warmup, v scenario.Validity) {
	if w == nil || w.PValue >= stat.TrendAlpha {
		return
	}
	t := stat.Trend{Percent: w.TrendPercent, P: w.PValue}
	how := "rose"
	if t.Percent < 0 {
		how = "fell"
	}
	j.Add("trend_percent_max", math.Abs(t.Percent), v, "the rate "+how+" by %s over the window, which chance does not explain", " %")
}
