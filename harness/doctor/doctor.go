// Package doctor examines whether a host is fit for measuring. It measures how fast the load
// generator runs without a server, how late it sends tasks, and how long an fsync takes. It also
// checks which signals of the host can be read, and reports their values during the examination.
//
// Examine returns a Report with a state for each check. For a dedicated host it also judges the
// settings that DEDICATED.md advises. Examine loads the host for some seconds and changes
// GOMAXPROCS during that time, so the process should do nothing else.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// State is the result of a check.
type State string

// States of a check. An unknown value never counts as fit, but does not make the host unfit,
// because the scenario decides which signals it needs.
const (
	Fit     State = "fit"
	Unfit   State = "unfit"
	Unknown State = "unknown"
	Note    State = "note" // a value without a limit
)

// Check describes one property of a host that matters for measuring.
type Check struct {
	Name  string   `json:"name"`
	State State    `json:"state"`
	Value *float64 `json:"value"` // nil (null in JSON) if unknown
	Unit  string   `json:"unit"`
	// lower or upper bound of a fit value; nil if there is none
	Limit *float64 `json:"limit,omitempty"`
	About string   `json:"about"` // explains what the value means
}

// Report is the result of an examination.
type Report struct {
	// Invalid if a check or a setting is unfit, otherwise Pass
	Verdict result.Verdict `json:"verdict"`
	Host    result.Host    `json:"host"`
	Checks  []Check        `json:"checks"`
	// Dedicated contains the settings that are advised for a dedicated host. It is empty unless
	// Options.Dedicated is set.
	Dedicated []Setting `json:"dedicated,omitempty"`
}

// Limits of the checks. If the generator were slower, a round would measure the generator instead
// of the target.
const (
	generatorPerSecondMin = 2e6
	slipMsMax             = 1.0
	arrivalsPerSecond     = 50_000
)

// Options configures Examine.
type Options struct {
	Dir      string        // existing folder on the disk on which servers would store their data
	Window   time.Duration // length of each load; 0 means one second
	HostRoot string        // folder that contains the host's proc and sys; "" means the real root
	// Dedicated makes Examine also judge whether the host is fit as a host that is used only for
	// measuring.
	Dedicated bool
}

// Examine measures whether this host is fit for measuring. It takes about five times
// Options.Window, and changes GOMAXPROCS during that time.
func Examine(ctx context.Context, o Options) (*Report, error) {
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("cannot examine %s: expected an existing folder; name one with --dir", o.Dir), err)
	}
	if o.Window <= 0 {
		o.Window = time.Second
	}
	d := &Report{Verdict: result.Pass, Host: observe.Host(o.Dir)}
	watch := observe.StartWatch(observe.WatchConfig{Root: o.HostRoot})
	err := d.generator(ctx, o.Window)
	signals := watch.Stop()
	if err != nil {
		return nil, err
	}
	d.disk()
	d.threads()
	d.signals(&signals)
	for _, c := range d.Checks {
		if c.State == Unfit {
			d.Verdict = result.Invalid
		}
	}
	if o.Dedicated {
		d.dedicated(o.HostRoot, o.Dir, &signals)
	}
	return d, nil
}

func (d *Report) add(c Check) { d.Checks = append(d.Checks, c) }

func (d *Report) generator(ctx context.Context, window time.Duration) error {
	wall, batched, err := nullRate(ctx, 64, window)
	if err != nil {
		return err
	}
	_, single, err := nullRate(ctx, 1, window)
	if err != nil {
		return err
	}
	slip, slipKnown, err := nullSlip(ctx, 2*window)
	if err != nil {
		return err
	}
	d.add(atLeast("generator", batched, "cycles/s", generatorPerSecondMin,
		"rate of generator, recorders and ledger alone per second of CPU time, in batches of 64 tasks"))
	d.add(Check{
		Name: "generator, wall", State: Note, Value: &wall, Unit: "cycles/s",
		About: "the same per second of the window, on one CPU: lower if other programs take CPU time",
	})
	d.add(Check{
		Name: "generator, single", State: Note, Value: &single, Unit: "cycles/s",
		About: "per second of CPU time with one task per call",
	})
	about := fmt.Sprintf("99th percentile of how late the generator sends a task, at %s arrivals per second", render.Count(arrivalsPerSecond))
	if slipKnown {
		d.add(atMost("slip", slip, "ms", slipMsMax, about))
	} else {
		d.add(Check{Name: "slip", State: Unknown, Unit: "ms", About: about})
	}
	clock := clockNanoseconds()
	d.add(Check{Name: "clock", State: Note, Value: &clock, Unit: "ns", About: "one reading of the clock; a cycle reads it four times"})
	cpus := float64(d.Host.CPUs)
	d.add(Check{Name: "CPUs", State: Note, Value: &cpus, Unit: "CPUs", About: "CPUs available to this process; generator and servers share them"})
	return nil
}

func (d *Report) disk() {
	about := "an append of 512 bytes and its fdatasync in the data folder, on " + d.Host.Filesystem
	for _, c := range []struct {
		name  string
		value float64
		what  string
	}{{"fsync", d.Host.FsyncMsP50, "median of "}, {"fsync, p99", d.Host.FsyncMsP99, "99th percentile of "}, {"fsync, slowest", d.Host.FsyncMsMax, "slowest "}} {
		d.add(measured(c.name, c.value, "ms", c.what+about))
	}
}

func (d *Report) threads() {
	const about = "a hop between two OS threads: a byte through a pipe to a waiting thread, half of a round trip"
	d.add(measured("thread hop", d.Host.ThreadHopUsP50, "us", "median of "+about))
	d.add(measured("thread hop, p99", d.Host.ThreadHopUsP99, "us", "99th percentile of "+about))
}

// measured returns a check that has no limit. A value of 0 means that the value is unknown.
func measured(name string, value float64, unit, about string) Check {
	if value <= 0 {
		return Check{Name: name, State: Unknown, Unit: unit, About: about}
	}
	return Check{Name: name, State: Note, Value: &value, Unit: unit, About: about}
}

// signals adds a check for each signal of the host. The value is the one during the measurement of
// the generator.
func (d *Report) signals(s *result.Signals) {
	limits := map[string]*float64{}
	for _, l := range scenario.ValidityLimits() {
		limits[l.Name] = l.Default
	}
	for _, c := range []struct {
		name, unit, limit, about string
		value                    *float64
	}{
		{"steal", "%", "steal_percent_max", "share of all CPUs' time taken by the hypervisor", s.StealPercent},
		{"foreign CPU", "%", "foreign_cpu_percent_max", "share of all CPUs' time used by other processes", s.ForeignCPUPercent},
		{"pressure, CPU", "%", "pressure_cpu_percent_max", "share of the time with some task waiting for a CPU (PSI)", s.PressureCPUPercent},
		{"pressure, I/O", "%", "", "the same for I/O", s.PressureIOPercent},
		{"pressure, memory", "%", "pressure_memory_percent_max", "the same for memory", s.PressureMemoryPercent},
		{"throttling", "%", "throttled_percent_max", "share of the time with tasks stopped by the control group's CPU quota", s.ThrottledPercent},
		{"clock steps", "ms", "clock_step_ms_max", "difference that arose between wall time and monotonic time", s.ClockStepMs},
		{"frequency", "MHz", "", "lowest of all CPUs and samples", s.FrequencyMHzMin},
		{"frequency drop", "%", "frequency_drop_percent_max", "drop of the highest CPU frequency", s.FrequencyDropPercent},
	} {
		limit := limits[c.limit]
		switch {
		case c.value == nil:
			d.add(Check{Name: c.name, State: Unknown, Unit: c.unit, About: c.about})
		case limit == nil:
			d.add(Check{Name: c.name, State: Note, Value: c.value, Unit: c.unit, About: c.about})
		default:
			d.add(atMost(c.name, *c.value, c.unit, *limit, c.about))
		}
	}
}

func atLeast(name string, value float64, unit string, limit float64, about string) Check {
	c := Check{Name: name, State: Fit, Value: &value, Unit: unit, Limit: &limit, About: about}
	if !(value >= limit) { // written so that NaN is unfit
		c.State = Unfit
	}
	return c
}

func atMost(name string, value float64, unit string, limit float64, about string) Check {
	c := Check{Name: name, State: Fit, Value: &value, Unit: unit, Limit: &limit, About: about}
	if !(value <= limit) {
		c.State = Unfit
	}
	return c
}
