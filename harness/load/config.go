package load

import (
	"errors"
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// payloadMemoryMax bounds the payloads that all producers hold at once, in bytes.
const payloadMemoryMax = 1 << 30

// validate returns everything that keeps a round's load from being run.
func (c *Config) validate() error {
	errs := c.validateWorkload()
	check := errs.check
	p := c.Phases
	check(p.Warmup >= 0, "phases.warmup is %v; it must not be negative", p.Warmup)
	check(p.WarmupMax >= 0, "phases.warmup_max is %v; it must not be negative", p.WarmupMax)
	check(p.Window > 0, "phases.window is %v; it must be positive", p.Window)
	check(p.Drain >= 0, "phases.drain is %v; it must not be negative", p.Drain)
	check(c.Ledger == nil || c.Ledger.Totals().Sent == 0, "the ledger has been used before; give each round a new one")
	return errors.Join(*errs...)
}

// problems are what is wrong with a configuration.
type problems []error

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf("load: "+format, args...))
	}
}

// validateWorkload returns what is wrong with the workload, the connections and the ledger.
func (c *Config) validateWorkload() *problems {
	errs := &problems{}
	check := errs.check
	w := c.Workload
	check(len(c.Conns) > 0, "no connection given; open at least one")
	check(w.Tenants >= 1, "workload.tenants is %d; it must be at least 1", w.Tenants)
	check(w.Queues >= 1, "workload.queues is %d; it must be at least 1", w.Queues)
	if w.Arrivals.Kind == scenario.None {
		check(w.Producers == 0, "workload.producers is %d; with arrivals = none() it must be 0", w.Producers)
		check(w.Workers >= 0, "workload.workers is %d; it must not be negative", w.Workers)
	} else {
		check(w.Producers >= 1, "workload.producers is %d; it must be at least 1", w.Producers)
		check(w.Workers >= max(1, w.Tenants),
			"workload.workers is %d; with %d tenants it must be at least %d, or nobody works for some", w.Workers, w.Tenants, max(1, w.Tenants))
	}
	check(w.Batch >= 1, "workload.batch is %d; it must be at least 1", w.Batch)
	switch w.Payload.Kind {
	case "fixed", "uniform":
	case "lognormal":
		check(w.Payload.Median >= 1 && w.Payload.P99 >= w.Payload.Median,
			"workload.payload has a median of %d bytes and a 99th percentile of %d; the median must be positive and not above the other",
			w.Payload.Median, w.Payload.P99)
	default:
		check(false, "workload.payload is %q; it must be fixed, uniform or lognormal", w.Payload.Kind)
	}
	switch w.Keys.Kind {
	case "", "turn", "uniform":
	case "zipf":
		check(w.Keys.Skew > 0 && !math.IsInf(w.Keys.Skew, 0), "workload.keys has a skew of %v; it must be positive", w.Keys.Skew)
	default:
		check(false, "workload.keys is %q; it must be turn, uniform or zipf", w.Keys.Kind)
	}
	check(w.Payload.Min >= ledger.HeaderSize,
		"workload.payload has %d bytes; the task's identity alone takes %d", w.Payload.Min, ledger.HeaderSize)
	check(w.Payload.Max >= w.Payload.Min, "workload.payload is at most %d bytes but at least %d", w.Payload.Max, w.Payload.Min)
	switch w.Arrivals.Kind {
	case scenario.None:
	case scenario.Closed:
		check(w.InFlight == 0 || w.InFlight >= w.Batch, "workload.in_flight is %d; one call has %d tasks", w.InFlight, w.Batch)
	case scenario.Open, scenario.Ramp, scenario.Burst:
		validateArrivals(check, w.Arrivals)
		check(w.InFlight >= 1, "workload.in_flight is %d; it must be at least 1", w.InFlight)
	default:
		check(false, "workload.arrivals is %q; it must be %s, %s, %s, %s or %s", w.Arrivals.Kind,
			scenario.Closed, scenario.Open, scenario.Ramp, scenario.Burst, scenario.None)
	}
	if len(*errs) == 0 {
		held := float64(w.Producers) * float64(w.Batch) * float64(w.Payload.Max)
		check(held <= payloadMemoryMax,
			"%d producers × %d tasks per call × %d bytes of payload is more than %d bytes in flight; lower one of them",
			w.Producers, w.Batch, w.Payload.Max, payloadMemoryMax)
	}
	if c.Ledger == nil {
		check(false, "no ledger given")
	} else {
		check(c.Ledger.Producers() >= w.Producers,
			"the ledger has accounts for %d producers, the workload has %d", c.Ledger.Producers(), w.Producers)
	}
	return errs
}
