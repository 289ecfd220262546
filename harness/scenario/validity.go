package scenario

import (
	"encoding/json"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Validity says beyond which limits a round is invalid, because the host or the load generator was
// not fit. A limit of nil is none; the zero value has none at all. The load command fills in the
// defaults of the table below.
type Validity struct {
	// Warn has what is beyond a limit be a warning only.
	Warn bool

	StealPercentMax          *float64 // of all CPUs' time, taken by the hypervisor
	ForeignCPUPercentMax     *float64 // of all CPUs' time, used by processes that are not of the run
	PressureCPUPercentMax    *float64 // of the window in which some task waited for a CPU
	PressureMemoryPercentMax *float64 // likewise for memory
	ThrottledPercentMax      *float64 // of the window in which a CPU quota stopped tasks
	ClockStepMsMax           *float64 // by which wall time and monotonic time went apart
	FrequencyDropPercentMax  *float64 // by which the CPUs slowed down
	TrendPercentMax          *float64 // by which the rate rose or fell over the window
	SlipMsP99Max             *float64 // by which the generator of an open load was late, by its own fault
	GeneratorCPUPercentMax   *float64 // of the CPUs that the generator may use, while the servers had some to spare
	// BacklogGrowthPercentMax is by how much the outstanding tasks of a closed workload rose over
	// the window, in percent of the tasks that its producers and workers hold at once.
	BacklogGrowthPercentMax *float64

	// unrecorded are the names of the limits that the file that v was read from does not have: its
	// writer did not know them.
	unrecorded []string
}

// ValidityLimit is one of the limits.
type ValidityLimit struct {
	Name    string   // the attribute's
	Default *float64 // nil: no limit
	Max     float64  // the largest that may be asked for
	of      func(*Validity) **float64
}

// In returns the limit that v has, or nil for no limit.
func (l ValidityLimit) In(v Validity) *float64 { return *l.of(&v) }

// TrendPercentDefault is the trend of the rate beyond which a load does not count as steady,
// whatever limit a scenario has.
const TrendPercentDefault = 10.0

// The limits. Pressure on the CPUs has none unless one is asked for: a closed load on as many CPUs
// as it has threads is pressure in itself. A step of wall time has a small one, since nothing that
// is healthy steps the clock.
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

// ValidityLimits returns all limits in the order in which they are written. The slice is the
// caller's.
func ValidityLimits() []ValidityLimit { return append([]ValidityLimit{}, validityLimits...) }

// DefaultValidity returns the limits of a scenario that says nothing of them.
func DefaultValidity() (v Validity) {
	for _, l := range validityLimits {
		*l.of(&v) = l.Default
	}
	return v
}

// What becomes of a round that is beyond a limit.
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

// readValidity reads validity { on_breach steal_percent_max ... }, or returns the defaults without
// such a block.
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

// MarshalJSON writes each limit by its name, a number or "any". It leaves out a limit that v was
// read without.
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

// UnmarshalJSON reads what MarshalJSON writes. An absent limit means that the value is not limited.
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
