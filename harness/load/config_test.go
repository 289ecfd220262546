package load

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

func TestConfigThatCannotBeRun(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		says   string
	}{
		"connections": {func(c *Config) { c.Conns = nil }, "no connection given"},
		"tenants":     {func(c *Config) { c.Workload.Tenants = 0 }, "workload.tenants is 0"},
		"queues":      {func(c *Config) { c.Workload.Queues = -1 }, "workload.queues is -1"},
		"producers":   {func(c *Config) { c.Workload.Producers = 0 }, "workload.producers is 0"},
		"workers":     {func(c *Config) { c.Workload.Workers = 1 }, "workload.workers is 1; with 2 tenants it must be at least 2"},
		"batch":       {func(c *Config) { c.Workload.Batch = 0 }, "workload.batch is 0"},
		"payload":     {func(c *Config) { c.Workload.Payload.Kind = "normal" }, `workload.payload is "normal"`},
		"lognormal": {func(c *Config) {
			c.Workload.Payload.Kind, c.Workload.Payload.Median, c.Workload.Payload.P99 = "lognormal", 100, 99
		}, "a median of 100 bytes and a 99th percentile of 99"},
		"keys":        {func(c *Config) { c.Workload.Keys.Kind = "hot" }, `workload.keys is "hot"`},
		"skew":        {func(c *Config) { c.Workload.Keys.Kind = "zipf" }, "workload.keys has a skew of 0"},
		"payload min": {func(c *Config) { c.Workload.Payload.Min = 31 }, "workload.payload has 31 bytes; the task's identity alone takes 32"},
		"payload max": {func(c *Config) { c.Workload.Payload.Max = 63 }, "workload.payload is at most 63 bytes but at least 64"},
		"memory":      {func(c *Config) { c.Workload.Payload.Max = 1 << 29 }, "lower one of them"},
		"arrivals":    {func(c *Config) { c.Workload.Arrivals.Kind = "wave" }, `workload.arrivals is "wave"`},
		"second rate": {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Ramp }, "workload.arrivals has a second rate of 0 a second"},
		"ramp":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Ramp }, "workload.arrivals changes its rate over 0s"},
		"burst":       {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Burst }, "workload.arrivals has a burst of 0s every 0s"},
		"rate":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Open }, "workload.arrivals has a rate of 0 a second"},
		"in flight":   {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Open }, "workload.in_flight is 0"},
		"idle":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.None }, "with arrivals = none() it must be 0"},
		"warmup":      {func(c *Config) { c.Phases.Warmup = -1 }, "phases.warmup is -1ns"},
		"window":      {func(c *Config) { c.Phases.Window = 0 }, "phases.window is 0s"},
		"drain":       {func(c *Config) { c.Phases.Drain = -1 }, "phases.drain is -1ns"},
		"ledger":      {func(c *Config) { c.Ledger = nil }, "no ledger given"},
		"accounts": {func(c *Config) {
			c.Ledger = NewLedger(1, workload(func(w *scenario.Workload) { w.Producers = 1 }))
		}, "the ledger has accounts for 1 producers, the workload has 4"},
		"used ledger": {func(c *Config) { c.Ledger.Sent(0, 1) }, "the ledger has been used before"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := config(newBroker(), workload(nil))
			c.change(&cfg)
			_, err := Run(context.Background(), cfg)
			assert.ErrorContains(t, err, c.says)
		})
	}
	t.Run("all at once", func(t *testing.T) {
		_, err := Run(context.Background(), Config{})
		require.Error(t, err)
		for _, says := range []string{"no connection", "workload.tenants", "workload.batch", "phases.window", "no ledger"} {
			assert.ErrorContains(t, err, says)
		}
	})
}
