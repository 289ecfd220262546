package validity

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// everyLimit sets every limit to its default, or to 50 if it has none.
func everyLimit() scenario.Validity {
	return scenario.Validity{
		StealPercentMax: new(5.0), ForeignCPUPercentMax: new(10.0), PressureCPUPercentMax: new(50.0), PressureMemoryPercentMax: new(10.0),
		ThrottledPercentMax: new(1.0), ClockStepMsMax: new(10.0), FrequencyDropPercentMax: new(20.0), TrendPercentMax: new(10.0), SlipMsP99Max: new(1.0),
	}
}

// fitHost returns signals that are all known and exactly at their limits.
func fitHost() result.Signals {
	return result.Signals{
		StealPercent: new(5.0), ForeignCPUPercent: new(10.0), PressureCPUPercent: new(50.0), PressureMemoryPercent: new(10.0),
		PressureIOPercent: new(100.0), ThrottledMs: new(30.0), ThrottledPercent: new(1.0), ClockStepMs: new(10.0), FrequencyDropPercent: new(20.0),
	}
}

func TestSignalsOfAFitHost(t *testing.T) {
	s := fitHost()
	assert.Equal(t, Judgement{}, Signals(&s, everyLimit()))
}

// Each reason, triggered separately.
func TestSignalsBeyondALimit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*result.Signals)
		want   string
	}{
		"steal":   {func(s *result.Signals) { s.StealPercent = new(5.1) }, "the hypervisor took 5.1 % of all CPUs' time; up to 5 % is sound (validity.steal_percent_max)"},
		"foreign": {func(s *result.Signals) { s.ForeignCPUPercent = new(62.25) }, "processes that are not of this run used 62.2 % of all CPUs' time; up to 10 % is sound (validity.foreign_cpu_percent_max)"},
		"named": {func(s *result.Signals) {
			s.ForeignCPUPercent, s.ForeignProcesses = new(62.0), []result.ForeignProcess{{Name: "go", CPUPercent: 41.2}, {Name: "50%d", CPUPercent: 7}}
		}, "processes that are not of this run used 62 % of all CPUs' time (go 41 %, 50%d 7 %); up to 10 % is sound (validity.foreign_cpu_percent_max)"},
		"pressure":  {func(s *result.Signals) { s.PressureCPUPercent = new(51.0) }, "some task waited for a CPU in 51 % of the window; up to 50 % is sound (validity.pressure_cpu_percent_max)"},
		"memory":    {func(s *result.Signals) { s.PressureMemoryPercent = new(10.01) }, "some task waited for memory in 10.01 % of the window; up to 10 % is sound (validity.pressure_memory_percent_max)"},
		"throttled": {func(s *result.Signals) { s.ThrottledPercent = new(2.5) }, "the control group's CPU quota stopped its tasks for 2.5 % of the window; up to 1 % is sound (validity.throttled_percent_max)"},
		"clock":     {func(s *result.Signals) { s.ClockStepMs = new(3_600_000.0) }, "wall time and monotonic time went 3,600,000 ms apart; up to 10 ms is sound (validity.clock_step_ms_max)"},
		"frequency": {func(s *result.Signals) { s.FrequencyDropPercent = new(33.0) }, "the CPUs' clock rate fell by 33 %; up to 20 % is sound (validity.frequency_drop_percent_max)"},
	} {
		s := fitHost()
		c.change(&s)
		assert.Equal(t, Judgement{Reasons: []string{c.want}}, Signals(&s, everyLimit()), name)

		lax := everyLimit()
		lax.Warn = true
		j := Signals(&s, lax)
		assert.Empty(t, j.Reasons, name)
		assert.Len(t, j.Warnings, 1, name)
		assert.Empty(t, Signals(&s, scenario.Validity{}).Reasons, "%s: no limit is set", name)
	}
}

// A signal that has a limit but could not be read never counts as good.
func TestSignalsOfAnUnknownHost(t *testing.T) {
	assert.Equal(t, Judgement{Unknown: []string{"steal", "foreign CPU", "CPU pressure", "memory pressure", "throttling", "clock", "frequency"}},
		Signals(&result.Signals{}, everyLimit()))
	some := everyLimit()
	some.PressureCPUPercentMax, some.FrequencyDropPercentMax = nil, nil
	assert.Equal(t, []string{"steal", "foreign CPU", "memory pressure", "throttling", "clock"}, Signals(&result.Signals{}, some).Unknown)
	assert.Equal(t, Judgement{}, Signals(&result.Signals{}, scenario.Validity{}))
}

// Every limit of the scenario language, except those of the load, belongs to a signal.
func TestEverySignalHasALimit(t *testing.T) {
	known := map[string]bool{"trend_percent_max": true, "slip_ms_p99_max": true, "generator_cpu_percent_max": true, "backlog_growth_percent_max": true}
	for _, s := range signals {
		known[s.limit] = true
	}
	for _, l := range scenario.ValidityLimits() {
		assert.True(t, known[l.Name], l.Name)
		delete(known, l.Name)
	}
	assert.Empty(t, known)
}
