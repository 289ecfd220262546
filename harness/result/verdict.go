package result

import "slices"

// Verdict is the outcome of a round, of a run, or of several of them together.
type Verdict string

const (
	// Pass means that the run was valid and no problem was found.
	Pass Verdict = "pass"
	// Regressed means that a metric is worse than its baseline or its limit allows.
	Regressed Verdict = "regressed"
	// Invalid means that the measurement cannot be trusted: a part failed, or the host was
	// disturbed.
	Invalid Verdict = "invalid"
	// Inconclusive means that the spread of the rounds is too wide to separate a change from noise.
	Inconclusive Verdict = "inconclusive"
	// Incorrect means that the system under test broke its contract: a task was lost, duplicated or
	// corrupted.
	Incorrect Verdict = "incorrect"
	// Misconfigured means that the run could not be started as requested.
	Misconfigured Verdict = "misconfigured"
)

// severity lists the verdicts from worst to best. A broken contract outranks everything, because it
// makes all figures meaningless. Next are the verdicts of runs without trustworthy figures, then
// regressed, then inconclusive.
var severity = []Verdict{Incorrect, Misconfigured, Invalid, Regressed, Inconclusive, Pass}

// ExitCode returns the process exit code of v: 0 pass, 1 regressed, 2 misconfigured, 3 invalid, 4
// inconclusive, 5 incorrect. Any other verdict, including the empty one, does not come from a
// measurement and is treated as invalid.
func (v Verdict) ExitCode() int {
	switch v {
	case Pass:
		return 0
	case Regressed:
		return 1
	case Misconfigured:
		return 2
	case Inconclusive:
		return 4
	case Incorrect:
		return 5
	default:
		return 3
	}
}

// Known reports whether v is one of the verdicts of this package.
func (v Verdict) Known() bool { return slices.Contains(severity, v) }

// Worst returns the worst of the given verdicts, in the order incorrect, misconfigured, invalid,
// regressed, inconclusive, pass. An unknown verdict is treated as invalid. Without verdicts it
// returns Pass.
func Worst(a ...Verdict) Verdict {
	worst := len(severity) - 1
	for _, v := range a {
		rank := slices.Index(severity, v)
		if rank < 0 {
			rank = slices.Index(severity, Invalid)
		}
		worst = min(worst, rank)
	}
	return severity[worst]
}
