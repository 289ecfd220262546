package gate

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	gonum "gonum.org/v1/gonum/stat"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

const (
	// soakAlpha is the probability that the lower bound of any figure of a soak exceeds the true
	// change. The bootstrap makes the bounds too narrow for noise that lasts for many windows. But
	// a figure is worse only if its lower bound exceeds the limit, so noise without any change
	// raises far fewer alarms.
	soakAlpha = 0.05
	// soakDigits is the least number of significant digits of a change or a limit in a sentence.
	soakDigits = 3
	// soakValidShare is the minimum share of valid windows among those without faults. Below it,
	// the host was not fit for the soak.
	soakValidShare = 0.5
	// soakDecayedShare is the largest share of the windows with faults where the rate may fail to
	// recover. It is above 0 because a stall of the host after the last fault of a window looks the
	// same.
	soakDecayedShare = 0.1
)

// SoakSeries is one figure of a soak over its judged windows.
type SoakSeries struct {
	Figure, Unit string
	FallIsWorse  bool // otherwise a rise is worse
	Values       []float64
	// First and Last are the figure at the start and at the end, each over Span.
	First, Last  float64
	Span         time.Duration
	LimitPercent float64
}

// JudgeSoak judges the drift of each figure and sets the drifts, the verdict and its reasons in s.
// every is the measured time between two values of a series.
//
// A figure passes if the upper bound of its change for the worse, at 95 % for each figure, is below
// its limit. A soak passes only if all figures pass, which needs no correction for the number of
// figures. A figure is worse if the lower bound, at 95 % over all figures together (Bonferroni), is
// above its limit. All other figures are inconclusive. The sentences state the bounds that were
// decisive.
func JudgeSoak(s *result.Soak, series []SoakSeries, every time.Duration) {
	s.Drifts, s.Reasons = nil, nil
	found := make([]*stat.Drift, len(series))
	ps := make([]float64, len(series))
	for i, of := range series {
		d := result.SoakDrift{
			Figure: of.Figure, Unit: of.Unit, First: of.First, Last: of.Last, SpanS: of.Span.Seconds(), Values: len(of.Values),
			LimitPercent: of.LimitPercent, Verdict: result.Inconclusive,
		}
		if len(of.Values) > 0 {
			if mean := gonum.Mean(of.Values, nil); finite(mean) {
				d.Mean = mean
			}
		}
		ps[i] = 1
		drift, err := stat.FindDrift(of.Values)
		switch {
		case len(of.Values) < stat.DriftMinN:
			left := time.Duration(stat.DriftMinN-len(of.Values)) * every
			d.Sentence = fmt.Sprintf("%s has %s, but a slope needs %d: measure for %s more, plus the time of windows that are invalid or have faults",
				of.Figure, render.Plural(len(of.Values), "judged value"), stat.DriftMinN, left.Round(time.Second))
			d.NeedsS = s.MeasuredS + left.Seconds()
		case err != nil:
			d.Sentence = fmt.Sprintf("%s has no slope: %v", of.Figure, err)
		default:
			if of.FallIsWorse {
				drift.Center = 0 - drift.Center
			}
			found[i], ps[i] = &drift, drift.PAbove(0)
		}
		s.Drifts = append(s.Drifts, d)
	}
	corrected := stat.Holm(ps)
	for i, drift := range found {
		if drift != nil {
			judgeDrift(&s.Drifts[i], drift, corrected[i], len(series), series[i].FallIsWorse, s.MeasuredS)
		}
	}
	soakVerdict(s)
}

// judgeDrift judges the drift of one of several figures. p is already corrected for their number.
func judgeDrift(d *result.SoakDrift, drift *stat.Drift, p float64, of int, fallIsWorse bool, measuredS float64) {
	change := func(percent float64) float64 { return changeForTheWorse(percent, fallIsWorse) }
	center, low, high := change(drift.Center), change(drift.Lower(soakAlpha/float64(of))), change(drift.Upper(1-stat.Level))
	d.WorsePercent, d.LowPercent, d.HighPercent, d.P = &center, &low, &high, &p
	if drift.Center == 0 && drift.StdErr == 0 {
		d.Verdict, d.Sentence = result.Pass, fmt.Sprintf("%s did not change; the limit is %s %%", d.Figure, render.Digits(d.LimitPercent, soakDigits))
		return
	}
	verb := "rose"
	if fallIsWorse != (drift.Center < 0) {
		verb = "fell"
	}
	text := func(v float64) string {
		shown, _ := render.Distinct(v, d.LimitPercent, soakDigits)
		return shown
	}
	says := func(judged float64) string {
		_, limit := render.Distinct(judged, d.LimitPercent, soakDigits)
		return fmt.Sprintf("%s %s by %s %% over the soak; the change for the worse is at least %s %% (95 %% bound over all %s) and at most %s %% (95 %% bound), and the limit is %s %%",
			d.Figure, verb, text(math.Abs(center)), text(low), render.Plural(of, "figure"), text(high), limit)
	}
	switch {
	case high < d.LimitPercent:
		d.Verdict, d.Sentence = result.Pass, says(high)+": the limit is not reached"
	case low > d.LimitPercent:
		d.Verdict, d.Sentence = result.Regressed, says(low)+": the change exceeds the limit"
	default:
		d.Sentence = says(center) + ": a change above the limit is neither excluded nor certain"
		// The error of the change over a whole soak falls with the square root of its length.
		reach, room := high-center, d.LimitPercent-max(0, center)
		if center > d.LimitPercent {
			reach, room = center-low, center-d.LimitPercent
		}
		if room <= 0 {
			return // the change equals the limit, so no length of soak decides
		}
		d.NeedsS = measuredS * reach / room * reach / room
		d.Sentence += fmt.Sprintf("; at this noise level a decision needs %s of measured time", soakTime(d.NeedsS))
	}
}

// changeForTheWorse converts a drift for the worse, in percent of the mean, to the relative change
// from start to end. A figure that should rise cannot fall by more than 100 %.
func changeForTheWorse(percent float64, fallIsWorse bool) float64 {
	if fallIsWorse {
		return 0 - stat.EndToStart(-percent)
	}
	return stat.EndToStart(percent)
}

// soakVerdict sets the verdict to the worst finding. The drifts and the totals must be set before.
func soakVerdict(s *result.Soak) {
	verdict := result.Pass
	say := func(v result.Verdict, format string, args ...any) {
		verdict = result.Worst(verdict, v)
		s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...))
	}
	t := s.Totals
	if n := t.Ledger.AtFault(); n > 0 || t.Incorrect > 0 {
		is := "is"
		if t.Incorrect != 1 {
			is = "are"
		}
		say(result.Incorrect, "%s %s incorrect, with %s at fault: %s", render.Plural(t.Incorrect, "window"), is, render.Plural(int(n), "task"),
			cmp.Or(strings.Join(t.IncorrectReasons, "; "), "the ledger does not balance"))
	}
	if without := t.Windows - t.WithFaults - t.Cut; without > 0 && float64(t.Judged) < soakValidShare*float64(without) {
		say(result.Invalid, "%d of %s without faults are valid, but at least half must be: the host was not fit for the soak", t.Judged, render.Plural(without, "window"))
	}
	if r := t.Recovery; r != nil && float64(r.Decayed) > soakDecayedShare*float64(r.Windows) {
		say(result.Regressed, "the rate did not recover in %d of %s with faults, but may fail to recover in at most one of ten; the first: %s",
			r.Decayed, render.Plural(r.Windows, "window"), r.DecayedReason)
	}
	if t.ServerEnds > 0 {
		say(result.Regressed, "a server exited unexpectedly %s and was restarted", render.Plural(t.ServerEnds, "time"))
	}
	for _, d := range s.Drifts {
		if d.Verdict != result.Pass {
			say(d.Verdict, "%s", d.Sentence)
		}
	}
	if t.Windows == 0 {
		verdict = result.Inconclusive
	}
	s.Verdict = verdict
}

func soakTime(seconds float64) string {
	const day = 24 * 3600
	switch {
	case seconds > 365*day:
		return "more than a year"
	case seconds >= 2*day:
		return fmt.Sprintf("%.0f days", math.Ceil(seconds/day))
	}
	return time.Duration(math.Ceil(seconds/60) * float64(time.Minute)).String()
}
