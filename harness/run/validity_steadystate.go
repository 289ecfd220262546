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
	// countedPart is the length of the first parts of a window that ends after a number of tasks. The length of such a window is not known before.
	countedPart = 10 * time.Millisecond
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

// rateSeries samples counts at equal intervals, the parts. It keeps the last rateParts parts. With doubles it keeps the whole time instead:
// whenever there are 2*rateParts parts, each two become one, and later parts are as long as that.
type rateSeries struct {
	doubles bool

	mu     sync.Mutex // guards counts while samples are taken
	counts []count    // the first is the begin
}

func startSeriesAt(from count) *rateSeries { return &rateSeries{counts: []count{from}} }

// add enters the count at the end of a part, unless it is not later than the last one. It returns whether the parts have doubled.
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

// total returns the cycles in all parts.
func (s *rateSeries) total() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[len(s.counts)-1].completed - s.counts[0].completed
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

// every samples into a series at the end of each part, up to a number of times, until the function that it returns is called.
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

// windowBegins comes at the window's start.
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

// windowEnds comes at the window's end, and takes its last part, unless that is shorter than the others.
func (s *steadiness) windowEnds() {
	if s == nil {
		return
	}
	s.stopWindow()
	if !s.window.doubles {
		s.window.add(s.counted())
	}
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
	if s == nil || s.window == nil {
		return nil
	}
	rates := s.window.rates()
	if s.window.total() < uint64(len(rates)*rateCyclesMin) {
		return nil
	}
	trend, err := stat.FindTrend(rates)
	if err != nil { // there are few parts, or most had no cycle at all
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
	j.Add("trend_percent_max", math.Abs(t.Percent), v, " %", func(shown string) string {
		return "the rate " + how + " by " + shown + " over the window, which chance does not explain"
	})
}
