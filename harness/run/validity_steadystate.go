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
	// rateParts is the number of equal parts of the warm-up and of the window: enough to
	// distinguish a trend from chance, while each part is long enough for many cycles.
	rateParts = 20
	// rateCyclesMin is the average number of cycles per part below which the rates are too noisy to
	// judge.
	rateCyclesMin = 10
	// rateEveryLeast is the minimum interval between two readings of the accounts.
	rateEveryLeast = time.Millisecond
	// countedPart is the length of the first parts of a window that ends after a number of tasks.
	// The length of such a window is unknown in advance.
	countedPart = 10 * time.Millisecond
	// settledParts is the number of parts at the end of the warm-up that settled examines. The
	// earlier parts include the launch, in which producers start one after the other.
	settledParts = 12
)

// steadiness samples the completed and outstanding tasks from before the launch of the load to the
// end of the window: the last parts of the warm-up and all parts of the window. windowBegins,
// windowEnds, stop, judge and balances do nothing on nil.
type steadiness struct {
	phases  scenario.Phases
	counted func() count
	took    time.Duration // actual duration of the warm-up; set after the load

	stopWarmup, stopWindow func()
	warmup, window         *rateSeries
}

// rateSeries samples counts at equal intervals, the parts. Without doubles it keeps the last
// rateParts parts. With doubles it covers the whole time: whenever there are 2*rateParts parts, it
// merges pairs of neighbours, and later parts have the doubled length.
type rateSeries struct {
	doubles bool

	mu     sync.Mutex // guards counts
	counts []count    // the first is the start of the first part
}

func startSeriesAt(from count) *rateSeries { return &rateSeries{counts: []count{from}} }

// add appends the count at the end of a part, unless its time is not after the last one. It reports
// whether the length of the parts has doubled.
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

// rates returns the rates of all parts, per second.
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

// part returns the length of a part of the warm-up.
func (s *steadiness) part() time.Duration { return max(s.phases.Warmup/rateParts, rateEveryLeast) }

// every samples into a series at the end of each part, at most the given number of times, until the
// returned function is called. That function waits for the sampling goroutine and may be called
// repeatedly.
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

// settled reports whether the rate had no trend beyond the default limit in the last parts of the
// warm-up so far. It also returns true if there are too few cycles to judge, so that the warm-up
// does not wait.
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

func (s *steadiness) windowBegins() {
	if s == nil {
		return
	}
	s.stopWarmup()
	s.window = startSeriesAt(s.counted())
	if s.phases.Tasks > 0 {
		s.window.doubles = true
		s.stopWindow = s.every(countedPart, s.window, math.MaxInt)
		return
	}
	s.stopWindow = s.every(s.phases.Window/rateParts, s.window, rateParts-1)
}

// windowEnds is called at the end of the window. It adds the last part, unless that would be
// shorter than the others.
func (s *steadiness) windowEnds() {
	if s == nil {
		return
	}
	s.stopWindow()
	if !s.window.doubles {
		s.window.add(s.counted())
	}
}

// stop ends all sampling. It may be called at any time and repeatedly.
func (s *steadiness) stop() {
	if s == nil {
		return
	}
	s.stopWarmup()
	if s.stopWindow != nil {
		s.stopWindow()
	}
}

// steadyLoad reports whether the workloads have a rate that should be constant.
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

// judge judges whether the rate was steady. It returns nil if there are too few cycles.
func (s *steadiness) judge() *result.Warmup {
	if s == nil || s.window == nil {
		return nil
	}
	rates := s.window.rates()
	if s.window.total() < uint64(len(rates)*rateCyclesMin) {
		return nil
	}
	trend, err := stat.FindTrend(rates)
	if err != nil { // few parts, or most have no cycle
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
