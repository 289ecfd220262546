package result

import "slices"

// Verdict is the outcome of a round, of a run, or of several of them together.
type Verdict string

const (
	// Pass says that the run was valid and that nothing was found wrong.
	Pass Verdict = "pass"
	// Regressed says that a metric is worse than its baseline or its limit allows.
	Regressed Verdict = "regressed"
	// Invalid says that the measurement itself cannot be trusted: a part failed, or the host did not hold still.
	Invalid Verdict = "invalid"
	// Inconclusive says that the spread of the rounds is too wide to tell a change from noise.
	Inconclusive Verdict = "inconclusive"
	// Incorrect says that the system under test broke its contract: a task was lost, duplicated or corrupted.
	Incorrect Verdict = "incorrect"
	// Misconfigured says that the run could not be started as it was asked for.
	Misconfigured Verdict = "misconfigured"
)

// severity lists the verdicts from the worst to the best. A broken contract outranks everything, because no
// number means anything beside it; then come the verdicts under which there is no number to trust; then a
// number that is worse; then one that cannot be told from noise.
var severity = []Verdict{Incorrect, Misconfigured, Invalid, Regressed, Inconclusive, Pass}

// ExitCode is the process exit code that reports v: 0 pass, 1 regressed, 2 misconfigured, 3 invalid,
// 4 inconclusive, 5 incorrect. A verdict that is none of these, the empty one included, was never reached by
// a measurement and reports as invalid.
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

// Worst returns the worst of the verdicts given, in the order incorrect, misconfigured, invalid, regressed,
// inconclusive, pass. An unknown verdict counts as invalid. Of none at all it returns Pass.
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
