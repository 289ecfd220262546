package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/scenario"
)

// nullRate measures a closed load with the null driver on one CPU. It returns the cycles per second
// of the window, and the cycles per second of CPU time. The second is the rate that an otherwise
// idle CPU would reach.
func nullRate(ctx context.Context, batch int, window time.Duration) (wall, cpu float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after observe.Usage
	sample := func(into *observe.Usage) func(context.Context) error {
		return func(context.Context) (err error) {
			*into, err = observe.Sample(os.Getpid())
			return err
		}
	}
	o, err := runNull(ctx, window, load.Hooks{WindowStart: sample(&before), WindowEnd: sample(&after)}, scenario.Workload{
		Producers: 4, Workers: 8, Batch: batch, InFlight: 4096, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
	})
	if err != nil {
		return 0, 0, err
	}
	if o.Cycles == 0 {
		return 0, 0, nil // a rate of 0 is unfit
	}
	us, err := after.Since(before).CPUMicrosecondsPer(o.Cycles)
	if err != nil {
		return 0, 0, fmt.Errorf("measure the generator: %w", err)
	}
	return float64(o.Cycles) / o.Window.Seconds(), 1e6 / us, nil
}

// nullSlip returns the 99th percentile of the slip of an open load with the null driver, in
// milliseconds. known is false if no producer was ever free at the intended start of a task.
func nullSlip(ctx context.Context, window time.Duration) (ms float64, known bool, err error) {
	o, err := runNull(ctx, window, load.Hooks{}, scenario.Workload{
		Producers: 32, Workers: 64, Batch: 1, InFlight: 1_000_000,
		Arrivals: scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: arrivalsPerSecond}},
	})
	if err != nil {
		return 0, false, err
	}
	return float64(o.Open.Slip.ValueAtPercentile(99)) / float64(time.Millisecond), o.Open.Slip.TotalCount() > 0, nil
}

// runNull runs a load with payloads of 64 bytes and the null driver. The warm-up takes a tenth of
// the window.
func runNull(ctx context.Context, window time.Duration, hooks load.Hooks, w scenario.Workload) (*load.Outcome, error) {
	w.Name, w.Tenants, w.Queues = "null", 1, 1
	w.Payload = scenario.Payload{Kind: "fixed", Min: 64, Max: 64}
	o, err := load.Run(ctx, load.Config{
		Workload: w, Phases: scenario.Phases{Warmup: window / 10, Window: window, Drain: 10 * time.Second},
		Conns: []driver.Conn{null.New().Dial()}, Ledger: load.NewLedger(1, w), Hooks: hooks,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("measure the generator: %w", err)
	case !o.Drained:
		return nil, errors.New("measure the generator: tasks were still incomplete 10 s after the window")
	}
	return o, nil
}

// clockNanoseconds returns how long one reading of the clock takes. It returns the minimum of
// several tries, because other processes may use the CPU during a try.
func clockNanoseconds() float64 {
	const tries, readings = 10, 1000
	least := time.Duration(1 << 62)
	for range tries {
		began := time.Now()
		for range readings {
			_ = time.Since(began)
		}
		least = min(least, time.Since(began))
	}
	return float64(least) / readings
}
