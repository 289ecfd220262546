package observe

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Judgement is what the host's signals say about a round.
type Judgement struct {
	Reasons  []string // for which it is invalid, one sentence each
	Warnings []string // likewise, where the scenario wants no more than to be warned
	Unknown  []string // names of the signals that have a limit and could not be read
}

// signal is one that is judged.
type signal struct {
	name  string // "foreign CPU"
	limit string // the attribute of the validity block
	value func(*result.Signals) *float64
	// happened says what is wrong, of the value with its unit.
	happened string
	unit     string
}

// signals are all that are judged, with the reason why each makes a round invalid.
var signals = []signal{
	// Time stolen is missing from the figures, and nothing in the processes shows it.
	{
		"steal", "steal_percent_max", func(s *result.Signals) *float64 { return s.StealPercent },
		"the hypervisor took %s of all CPUs' time", " %",
	},
	// Others' processes take CPUs and caches from the servers.
	{
		"foreign CPU", "foreign_cpu_percent_max", func(s *result.Signals) *float64 { return s.ForeignCPUPercent },
		"processes that are not of this run used %s of all CPUs' time", " %",
	},
	{
		"CPU pressure", "pressure_cpu_percent_max", func(s *result.Signals) *float64 { return s.PressureCPUPercent },
		"some task waited for a CPU in %s of the window", " %",
	},
	// The kernel writes and reads pages anew: that is what is measured then.
	{
		"memory pressure", "pressure_memory_percent_max", func(s *result.Signals) *float64 { return s.PressureMemoryPercent },
		"some task waited for memory in %s of the window", " %",
	},
	// The servers stood still by order, in steps of the quota's period, which the tails of latencies show.
	{
		"throttling", "throttled_percent_max", func(s *result.Signals) *float64 { return s.ThrottledPercent },
		"the control group's CPU quota stopped its tasks for %s of the window", " %",
	},
	// A wall clock that steps moves leases and expiries, and tells of a virtual machine that was stopped.
	{
		"clock", "clock_step_ms_max", func(s *result.Signals) *float64 { return s.ClockStepMs },
		"wall time and monotonic time went %s apart", " ms",
	},
	// A cycle costs more time on a slower CPU: heat, or a budget of power that was used up.
	{
		"frequency", "frequency_drop_percent_max", func(s *result.Signals) *float64 { return s.FrequencyDropPercent },
		"the CPUs' clock rate fell by %s", " %",
	},
}

var defaultLimits = func() map[string]scenario.ValidityLimit {
	limits := map[string]scenario.ValidityLimit{}
	for _, l := range scenario.ValidityLimits() {
		limits[l.Name] = l
	}
	return limits
}()

// Judge holds the signals of a round against the limits of its scenario.
func Judge(s *result.Signals, v scenario.Validity) (j Judgement) {
	for _, of := range signals {
		value, known := of.value(s), defaultLimits[of.limit]
		limit := known.In(v)
		switch {
		case value == nil && limit != nil:
			j.Unknown = append(j.Unknown, of.name)
		case value == nil:
		default:
			j.Add(of.limit, *value, v, of.happened, of.unit)
		}
	}
	return j
}

// Add judges one figure by one of the limits, which it must be one of. happened has a verb %s for the value with its unit.
func (j *Judgement) Add(name string, value float64, v scenario.Validity, happened, unit string) {
	l := defaultLimits[name]
	limit := l.In(v)
	said := fmt.Sprintf(happened, number(value)+unit)
	switch {
	case limit != nil && value > *limit && !v.Warn:
		j.Reasons = append(j.Reasons, fmt.Sprintf("%s; up to %s is sound (validity.%s)", said, number(*limit)+unit, name))
	case limit != nil && value > *limit:
		j.Warnings = append(j.Warnings, fmt.Sprintf("%s; up to %s is sound", said, number(*limit)+unit))
	}
}

// number writes three digits.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if v >= 1000 || slices.Contains([]byte(text), 'e') {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return text
}
