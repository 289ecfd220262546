// Package validity judges whether a measurement can be trusted. It checks whether the host and the
// measured properties of the load stayed within the limits of the scenario.
package validity

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Judgement is the verdict on the validity of a round, or of a generation of a duet. The zero value
// means that the measurement is valid.
type Judgement struct {
	Reasons  []string // reasons why the measurement is invalid, one sentence each
	Warnings []string // reasons of the same kind, if the scenario's validity block only warns
	Unknown  []string // names of the signals that have a limit but could not be read
}

// judgedSignal is a signal of the host that has a limit.
type judgedSignal struct {
	name  string // name used in texts, for example "foreign CPU"
	limit string // name of the attribute in the validity block
	value func(*result.Signals) *float64
	// happened is the format of a sentence that describes a value above the limit. Its verb is
	// replaced by the value and its unit.
	happened string
	unit     string
	named    bool // whether to append the names of foreign processes
}

// signals lists the signals that have a limit. The comment on each signal explains why a value
// above the limit makes a round invalid.
var signals = []judgedSignal{
	// Stolen time is not included in any figure of a process.
	{
		"steal", "steal_percent_max", func(s *result.Signals) *float64 { return s.StealPercent },
		"the hypervisor took %s of all CPUs' time", " %", false,
	},
	// Foreign processes use CPUs and caches that the servers need.
	{
		"foreign CPU", "foreign_cpu_percent_max", func(s *result.Signals) *float64 { return s.ForeignCPUPercent },
		"processes that are not of this run used %s of all CPUs' time", " %", true,
	},
	{
		"CPU pressure", "pressure_cpu_percent_max", func(s *result.Signals) *float64 { return s.PressureCPUPercent },
		"some task waited for a CPU in %s of the window", " %", false,
	},
	// If memory is short, the kernel writes pages out and reads them again, and the round measures
	// this instead of the servers.
	{
		"memory pressure", "pressure_memory_percent_max", func(s *result.Signals) *float64 { return s.PressureMemoryPercent },
		"some task waited for memory in %s of the window", " %", false,
	},
	// The quota stopped the servers during parts of its period. The tail of the latencies shows
	// these stops.
	{
		"throttling", "throttled_percent_max", func(s *result.Signals) *float64 { return s.ThrottledPercent },
		"the control group's CPU quota stopped its tasks for %s of the window", " %", false,
	},
	// A step of the wall clock changes when leases and other deadlines expire. It may also mean
	// that a virtual machine was stopped.
	{
		"clock", "clock_step_ms_max", func(s *result.Signals) *float64 { return s.ClockStepMs },
		"wall time and monotonic time went %s apart", " ms", false,
	},
	// If a CPU has used up its heat or power budget, its clock is slower, and each cycle takes
	// longer.
	{
		"frequency", "frequency_drop_percent_max", func(s *result.Signals) *float64 { return s.FrequencyDropPercent },
		"the CPUs' clock rate fell by %s", " %", false,
	},
}

// limits maps each attribute of the validity block to its limit.
var limits = func() map[string]scenario.ValidityLimit {
	limits := map[string]scenario.ValidityLimit{}
	for _, l := range scenario.ValidityLimits() {
		limits[l.Name] = l
	}
	return limits
}()

// Signals compares the signals of a round with the limits of the scenario.
func Signals(s *result.Signals, v scenario.Validity) (j Judgement) {
	for _, of := range signals {
		value, known := of.value(s), limits[of.limit]
		limit := known.In(v)
		switch {
		case value == nil && limit != nil:
			j.Unknown = append(j.Unknown, of.name)
		case value == nil:
		default:
			who := ""
			if names := result.ForeignText(s.ForeignProcesses); of.named && names != "" {
				who = " (" + names + ")"
			}
			j.Add(of.limit, *value, v, of.unit, func(shown string) string { return fmt.Sprintf(of.happened, shown) + who })
		}
	}
	return j
}

// Reasoned returns a Judgement with the given reasons. If the scenario's validity block only warns,
// they are warnings.
func Reasoned(reasons []string, v scenario.Validity) Judgement {
	if v.Warn {
		return Judgement{Warnings: reasons}
	}
	return Judgement{Reasons: reasons}
}

// Add compares a value with the limit called name, which must exist. If the value exceeds the
// limit, Add calls happened with the value and its unit as text. happened returns a sentence that
// describes the value.
func (j *Judgement) Add(name string, value float64, v scenario.Validity, unit string, happened func(shown string) string) {
	l := limits[name]
	limit := l.In(v)
	if limit == nil || !(value > *limit) {
		return
	}
	shown, bound := render.Distinct(value, *limit, 3)
	says := happened(shown+unit) + "; up to " + bound + unit + " is sound"
	if v.Warn {
		j.Warnings = append(j.Warnings, says)
		return
	}
	j.Reasons = append(j.Reasons, fmt.Sprintf("%s (validity.%s)", says, name))
}
