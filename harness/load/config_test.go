package load

import (
	"context"
	"testing"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

func TestConfigThatCannotBeRun(t *testing.T) {
	s := golden.Cases(t, "testdata/config.golden")
	cases := map[string]struct {
		change func(*Config)
	}{
		"connections": {func(c *Config) { c.Conns = nil }},
		"tenants":     {func(c *Config) { c.Workload.Tenants = 0 }},
		"queues":      {func(c *Config) { c.Workload.Queues = -1 }},
		"producers":   {func(c *Config) { c.Workload.Producers = 0 }},
		"workers":     {func(c *Config) { c.Workload.Workers = 1 }},
		"batch":       {func(c *Config) { c.Workload.Batch = 0 }},
		"payload":     {func(c *Config) { c.Workload.Payload.Kind = "normal" }},
		"lognormal": {func(c *Config) {
			c.Workload.Payload.Kind, c.Workload.Payload.Median, c.Workload.Payload.P99 = "lognormal", 100, 99
		}},
		"keys":        {func(c *Config) { c.Workload.Keys.Kind = "hot" }},
		"skew":        {func(c *Config) { c.Workload.Keys.Kind = "zipf" }},
		"payload min": {func(c *Config) { c.Workload.Payload.Min = 31 }},
		"payload max": {func(c *Config) { c.Workload.Payload.Max = 63 }},
		"memory":      {func(c *Config) { c.Workload.Payload.Max = 1 << 29 }},
		"arrivals":    {func(c *Config) { c.Workload.Arrivals.Kind = "wave" }},
		"second rate": {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Ramp }},
		"ramp":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Ramp }},
		"burst":       {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Burst }},
		"rate":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Open }},
		"in flight":   {func(c *Config) { c.Workload.Arrivals.Kind = scenario.Open }},
		"idle":        {func(c *Config) { c.Workload.Arrivals.Kind = scenario.None }},
		"warmup":      {func(c *Config) { c.Phases.Warmup = -1 }},
		"window":      {func(c *Config) { c.Phases.Window = 0 }},
		"drain":       {func(c *Config) { c.Phases.Drain = -1 }},
		"ledger":      {func(c *Config) { c.Ledger = nil }},
		"accounts": {func(c *Config) {
			c.Ledger = NewLedger(1, workload(func(w *scenario.Workload) { w.Producers = 1 }))
		}},
		"used ledger": {func(c *Config) { c.Ledger.Sent(0, 1) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := config(newBroker(), workload(nil))
			c.change(&cfg)
			_, err := Run(context.Background(), cfg)
			s.Error(t, name, err)
		})
	}
	t.Run("all at once", func(t *testing.T) {
		_, err := Run(context.Background(), Config{})
		s.Error(t, "all at once", err)
	})
}
