package scenario

import (
	"encoding/json"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Validity has the limits beyond which a round is invalid, because the host or the load generator
// was not fit. A nil limit means no limit, so the zero value has none. The parser fills in the
// defaults of the table below.
type Validity struct {
	// Warn turns a breach of a limit into a mere warning.
	Warn bool

	StealPercentMax          *float64 // of all CPUs' time, taken by the hypervisor
	ForeignCPUPercentMax     *float64 // of all CPUs' time, used by processes outside of the run
	PressureCPUPercentMax    *float64 // of the window, in which some task waited for a CPU
	PressureMemoryPercentMax *float64 // likewise for memory
	ThrottledPercentMax      *float64 // of the window, in which a CPU quota stopped tasks
	ClockStepMsMax           *float64 // between the advances of wall time and monotonic time
	FrequencyDropPercentMax  *float64 // decrease of the CPU frequency
	TrendPercentMax          *float64 // rise or fall of the rate over the window
	SlipMsP99Max             *float64 // lateness of an open load that the generator caused
	GeneratorCPUPercentMax   *float64 // of its CPUs, while the servers had idle CPU time
	// BacklogGrowthPercentMax bounds the increase of the outstanding tasks of a closed workload
	// over the window, in percent of Workload.HeldMax.
	BacklogGrowthPercentMax *float64

	// unrecorded are the names of the limits that are missing in the stored scenario of v, because
	// an older version wrote it.
	unrecorded []string
}

// ValidityLimit is one of the limits.
type ValidityLimit struct {
	Name    string   // name of the attribute
	Default *float64 // nil: no limit
	Max     float64  // the largest allowed value
	of      func(*Validity) **float64
}

// In returns the value of the limit in v, or nil for no limit.
func (l ValidityLimit) In(v Validity) *float64 { return *l.of(&v) }

// TrendPercentDefault is the trend of the rate beyond which a load does not count as steady,
// independent of the scenario's limit.
const TrendPercentDefault = 10.0

// The limits with their defaults. CPU pressure has no default limit, because a closed load with as
// many threads as CPUs always causes pressure. The limit of clock steps is small, because a healthy
// host does not step its clock.
var validityLimits = []ValidityLimit{
	{"steal_percent_max", new(5.0), 100, func(v *Validity) **float64 { return &v.StealPercentMax }},
	{"foreign_cpu_percent_max", new(10.0), 100, func(v *Validity) **float64 { return &v.ForeignCPUPercentMax }},
	{"pressure_cpu_percent_max", nil, 100, func(v *Validity) **float64 { return &v.PressureCPUPercentMax }},
	{"pressure_memory_percent_max", new(10.0), 100, func(v *Validity) **float64 { return &v.PressureMemoryPercentMax }},
	{"throttled_percent_max", new(1.0), 1e6, func(v *Validity) **float64 { return &v.ThrottledPercentMax }},
	{"clock_step_ms_max", new(10.0), 1e9, func(v *Validity) **float64 { return &v.ClockStepMsMax }},
	{"frequency_drop_percent_max", new(20.0), 100, func(v *Validity) **float64 { return &v.FrequencyDropPercentMax }},
	{"trend_percent_max", new(TrendPercentDefault), 1e6, func(v *Validity) **float64 { return &v.TrendPercentMax }},
	{"slip_ms_p99_max", new(1.0), 1e6, func(v *Validity) **float64 { return &v.SlipMsP99Max }},
	{"generator_cpu_percent_max", new(95.0), 100, func(v *Validity) **float64 { return &v.GeneratorCPUPercentMax }},
	{"backlog_growth_percent_max", new(100.0), 1e9, func(v *Validity) **float64 { return &v.BacklogGrowthPercentMax }},
}

// ValidityLimits returns all limits in the order of output. The caller owns the slice.
func ValidityLimits() []ValidityLimit { return append([]ValidityLimit{}, validityLimits...) }

// DefaultValidity returns the limits of a scenario without a validity block.
func DefaultValidity() (v Validity) {
	for _, l := range validityLimits {
		*l.of(&v) = l.Default
	}
	return v
}

// The values of on_breach: the effect of a breach of a limit on a round.
const (
	onBreach = "on_breach"

	breachInvalid = "invalid"
	breachWarn    = "warn"
)

var validityBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: validityAttributes()},
	Example: `validity { foreign_cpu_percent_max = 25 }`, Once: true,
}

func validityAttributes() []string {
	names := []string{onBreach}
	for _, l := range validityLimits {
		names = append(names, l.Name)
	}
	return names
}

func readValidity(s *hclfile.Block) Validity {
	v := DefaultValidity()
	blocks := s.Blocks("validity", validityBlock)
	for _, l := range validityLimits {
		if len(blocks) > 0 {
			*l.of(&v) = blocks[0].Limit(l.Name, hclfile.LimitSpec{Max: l.Max, Default: l.Default})
		}
	}
	if len(blocks) > 0 {
		v.Warn = blocks[0].Choice(onBreach, hclfile.ChoiceSpec{OneOf: []string{breachInvalid, breachWarn}, Default: breachInvalid}) == breachWarn
	}
	return v
}

// MarshalJSON writes each limit by name, as a number or as "any". It omits limits that v was read
// without.
func (v Validity) MarshalJSON() ([]byte, error) {
	stored := map[string]any{onBreach: breachInvalid}
	if v.Warn {
		stored[onBreach] = breachWarn
	}
	for _, l := range validityLimits {
		if slices.Contains(v.unrecorded, l.Name) {
			continue
		}
		stored[l.Name] = hclfile.NoLimit
		if limit := l.In(v); limit != nil {
			stored[l.Name] = *limit
		}
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON writes. An absent limit means no limit.
func (v *Validity) UnmarshalJSON(data []byte) error {
	var stored map[string]any
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	v.Warn = stored[onBreach] == breachWarn
	for _, l := range validityLimits {
		value, has := stored[l.Name]
		if !has {
			v.unrecorded = append(v.unrecorded, l.Name)
		}
		if limit, is := value.(float64); is {
			*l.of(v) = &limit
		}
	}
	return nil
}
