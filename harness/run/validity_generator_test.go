package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestWhoseFaultABusyGeneratorIs(t *testing.T) {
	for name, c := range map[string]struct {
		effort
		percent float64
		judged  bool
	}{
		"both are busy":                 {effort{2, 0.97, 0.95, 1, 1, 1, false}, 97, false},
		"the server idles":              {effort{2, 0.97, 0.5, 1, 1, 1, false}, 97, true},
		"the generator idles":           {effort{2, 0.5, 0.95, 1, 1, 1, false}, 50, false},
		"neither is busy":               {effort{2, 0.5, 0.5, 1, 1, 1, false}, 50, true},
		"nodes share what is left":      {effort{2, 0.96, 1.0, 1, 1, 3, false}, 96, false},
		"nodes that idle":               {effort{2, 0.96, 0.6, 1, 1, 3, false}, 96, true},
		"a generator takes the host":    {effort{2, 1.94, 0.05, 0, 0, 1, false}, 97, true},
		"they share the host":           {effort{2, 1, 0.99, 0, 0, 1, false}, 50, false},
		"more procs than CPUs":          {effort{2, 1.9, 0.1, 8, 8, 1, false}, 95, true},
		"a host with plenty":            {effort{64, 0.99, 4, 1, 0, 1, false}, 99, true},
		"a host with plenty, used":      {effort{64, 0.99, 60, 1, 0, 1, false}, 99, false},
		"a server with one of plenty":   {effort{64, 0.99, 0.97, 1, 1, 1, false}, 99, false},
		"measured: full-cycle-batch":    {effort{2, 0.607, 0.896, 1, 1, 1, false}, 60.7, true},
		"measured: REST":                {effort{2, 0.797, 0.953, 1, 1, 1, false}, 79.7, false},
		"measured: a cluster":           {effort{2, 0.784, 0.944, 1, 1, 3, false}, 78.4, true},
		"a target idles":                {effort{2, 1.94, 0.05, 1, 0, 0, false}.ofTarget(), 97, true},
		"a target is busy":              {effort{2, 1.06, 0.94, 1, 0, 0, false}.ofTarget(), 53, false},
		"servers elsewhere are busy":    {effort{2, 1.9, 7.5, 0, 8, 1, true}, 95, false},
		"servers elsewhere idle":        {effort{2, 1.9, 2, 0, 8, 1, true}, 95, true},
		"servers elsewhere, unknown":    {effort{2, 1.9, 2, 0, 0, 1, true}, 95, true},
		"measured: a cluster, batching": {effort{2, 0.332, 1.222, 1, 1, 3, false}, 33.2, true},
	} {
		percent, judged := c.generatorPercent()
		assert.InDelta(t, c.percent, percent, 1e-6, name)
		assert.Equal(t, c.judged, judged, name)
	}
}

// A busy generator makes the round invalid only while the servers have CPU time to spare. On this
// host neither may be busy, and the servers may be.
func TestGeneratorThatIsTheBottleneck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*scenario.Scenario)
		spoils bool
	}{
		"with a server apart": {func(s *scenario.Scenario) {}, true},
		"that polls":          {func(s *scenario.Scenario) { s.Workloads[0].BusyPoll = true }, false},
		"without a limit":     {func(s *scenario.Scenario) { s.Validity.GeneratorCPUPercentMax = nil }, false},
		"alone": {func(s *scenario.Scenario) {
			s.Topology, s.Workloads[0].Driver = scenario.Topology{Kind: scenario.NoTopology}, "null"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Workloads[0].InFlight = 64 // one call in flight: neither side is busy all the time
			s.Workloads[0].Producers, s.Workloads[0].Workers = 1, 1
			s.Validity.GeneratorCPUPercentMax = new(1e-6)
			c.change(s)
			r, _, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: real(t).path})
			require.NoError(t, err)
			if !c.spoils {
				assert.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				return
			}
			assert.Equal(t, result.Invalid, r.Verdict)
			require.NotEmpty(t, r.Reasons)
			assert.Contains(t, r.Reasons[0], "the generator was the bottleneck: it used ")
			assert.Contains(t, r.Reasons[0], "(validity.generator_cpu_percent_max)")
		})
	}
}
