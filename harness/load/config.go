package load

import (
	"errors"
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// payloadMemoryMax bounds the total size of the payloads that all producers hold in memory, in
// bytes.
const payloadMemoryMax = 1 << 30

func (c *Config) validate() error {
	errs := c.validateWorkload()
	errs.check(c.Phases.Window > 0, "phases.window is %v; it must be positive", c.Phases.Window)
	errs.checkPhases(c.Phases)
	errs.checkVolume(c)
	if c.Workload.ClaimsAlone() {
		errs.check(c.Ledger == nil || c.Ledger.Outstanding() > 0, "workload.producers is 0, and the ledger has no tasks to claim; call Fill before")
	} else {
		errs.checkUnused(c.Ledger)
	}
	errs.checkReaders(c.Workload, c.Readers)
	return errors.Join(*errs...)
}

func (c *MeterConfig) validate() error {
	errs := &problems{}
	check := errs.check
	w, p := c.Workload, c.Phases
	errs.checkBounds(w, "batch")
	errs.checkArrivals(w)
	check(p.Tasks == 0, "phases.tasks is %d; a metered load ends its window by time: remove it", p.Tasks)
	check(p.Window >= 0, "phases.window is %v; it must be positive, or 0 for a window without an end", p.Window)
	check(p.Window != 0 || !w.Arrivals.Timed(), "phases.window is 0 (no end); workload.arrivals must then be %s, not %s",
		scenario.Closed, w.Arrivals.Kind)
	check(p.WarmupMax <= p.Warmup, "phases.warmup_max is %v; a metered load cannot extend its warm-up: remove it", p.WarmupMax)
	errs.checkPhases(p)
	check(c.Ledger != nil, "no ledger given")
	errs.checkUnused(c.Ledger)
	return errors.Join(*errs...)
}

func (p *problems) checkPhases(phases scenario.Phases) {
	p.check(phases.Warmup >= 0, "phases.warmup is %v; it must not be negative", phases.Warmup)
	p.check(phases.WarmupMax >= 0, "phases.warmup_max is %v; it must not be negative", phases.WarmupMax)
	p.check(phases.Drain >= 0, "phases.drain is %v; it must not be negative", phases.Drain)
}

// checkBounds checks a workload by the bounds of the scenario language: the given attributes, or
// all without any.
func (p *problems) checkBounds(w scenario.Workload, attributes ...string) {
	for _, text := range w.BoundProblems(attributes...) {
		p.check(false, "workload.%s", text)
	}
}

func (p *problems) checkUnused(l *ledger.Ledger) {
	p.check(l == nil || l.Totals().Sent == 0, "the ledger has been used before; give each round a new one")
}

type problems []error

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf("load: "+format, args...))
	}
}

// validateWorkload returns the problems of the workload, the connections and the ledger.
func (c *Config) validateWorkload() *problems {
	errs := &problems{}
	check := errs.check
	w := c.Workload
	check(len(c.Conns) > 0, "no connection given; open at least one")
	errs.checkBounds(w)
	check(!w.QueuePerWorker || w.Tenants < 1 || w.Workers%w.Tenants == 0,
		"workload.workers is %d; with queue_per_worker it must be a multiple of the %d tenants", w.Workers, w.Tenants)
	if w.Arrivals.Kind == scenario.None {
		check(w.Producers == 0, "workload.producers is %d; with arrivals = none() it must be 0", w.Producers)
	} else {
		check(w.Producers > 0 || !w.Arrivals.Timed(), "workload.producers is 0; for an open load it must be at least 1")
		check(w.Producers+w.Workers > 0, "workload.producers and workload.workers are 0; one of the two must be at least 1")
		check(w.Workers >= max(1, w.Tenants) || w.Workers == 0,
			"workload.workers is %d; with %d tenants it must be at least %d, or some tenants have no worker", w.Workers, w.Tenants, max(1, w.Tenants))
		check(w.Workers > 0 || !w.Arrivals.Timed(), "workload.workers is 0; for an open load it must be at least 1")
		check(w.InFlight > 0 || !w.EnqueuesAlone(), "workload.in_flight is 0; with workers = 0 it must bound the number of tasks on the server")
	}
	switch w.Payload.Kind {
	case "fixed", "uniform":
	case "lognormal":
		check(w.Payload.Median >= 1 && w.Payload.P99 >= w.Payload.Median,
			"workload.payload has a median of %d bytes and a 99th percentile of %d; the median must be positive and at most the 99th percentile",
			w.Payload.Median, w.Payload.P99)
	default:
		check(false, "workload.payload is %q; it must be fixed, uniform or lognormal", w.Payload.Kind)
	}
	switch w.Keys.Kind {
	case "", scenario.KeysRoundRobin, "uniform":
	case "zipf":
		check(w.Keys.Skew > 0 && !math.IsInf(w.Keys.Skew, 0), "workload.keys has a skew of %v; it must be positive", w.Keys.Skew)
	default:
		check(false, "workload.keys is %q; it must be round_robin, uniform or zipf", w.Keys.Kind)
	}
	check(w.Payload.Min >= ledger.HeaderSize,
		"workload.payload has %d bytes; the task's identity alone takes %d", w.Payload.Min, ledger.HeaderSize)
	check(w.Payload.Max >= w.Payload.Min, "workload.payload is at most %d bytes but at least %d", w.Payload.Max, w.Payload.Min)
	errs.checkArrivals(w)
	check(!w.FailsTasks() || w.MaxAttempts >= 1, "workload.max_attempts is %d; with fail it must be at least 1", w.MaxAttempts)
	check(w.Delay.Part >= 0 && w.Delay.Part <= 1 && w.Delay.Time >= 0, "workload.delay is %v; its part must be from 0 to 1 and its time not negative", w.Delay)
	check(w.Delay.IsZero() || !w.ClaimsAlone(), "workload.delay is %v; with producers = 0 it must be left out", w.Delay)
	check(w.Result.Part >= 0 && w.Result.Part <= 1, "workload.result is %v; its part must be from 0 to 1", w.Result)
	check(w.Result.IsZero() || w.Result.Size >= ledger.HeaderSize, "workload.result is %v; a result must have at least %d bytes", w.Result, ledger.HeaderSize)
	check(w.Result.IsZero() || !w.Combined, "workload.result is %v; with combined it must be left out", w.Result)
	if len(*errs) == 0 {
		held := float64(w.Producers) * float64(w.EnqueueBatch()) * float64(w.Payload.Max)
		check(held <= payloadMemoryMax,
			"%d producers × %d tasks per call × %d bytes of payload is more than %d bytes in flight; lower one of them",
			w.Producers, w.EnqueueBatch(), w.Payload.Max, payloadMemoryMax)
	}
	if c.Ledger == nil {
		check(false, "no ledger given")
	} else {
		check(c.Ledger.Producers() >= w.Producers,
			"the ledger has accounts for %d producers, the workload has %d", c.Ledger.Producers(), w.Producers)
	}
	return errs
}

func (p *problems) checkArrivals(w scenario.Workload) {
	switch w.Arrivals.Kind {
	case scenario.None:
	case scenario.Closed:
		p.check(w.InFlight == 0 || w.InFlight >= w.EnqueueBatch(), "workload.in_flight is %d; one call has %d tasks", w.InFlight, w.EnqueueBatch())
	case scenario.Open, scenario.Ramp, scenario.Burst, scenario.Stages:
		validateArrivals(p.check, w.Arrivals)
		p.check(w.InFlight >= 1, "workload.in_flight is %d; it must be at least 1", w.InFlight)
	default:
		p.check(false, "workload.arrivals is %q; it must be %s, %s, %s, %s, %s or %s", w.Arrivals.Kind,
			scenario.Closed, scenario.Open, scenario.Ramp, scenario.Burst, scenario.Stages, scenario.None)
	}
}
