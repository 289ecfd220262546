package duet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Real servers and generators run on the CPUs of their side and report their settings. The second
// side uses TLS. The kernel caches the files of both sides differently and maps both by small
// pages.
func TestProcessesOfASide(t *testing.T) {
	t.Parallel()
	queued, err := buildtest.Program("queued", "engine/cmd/queued")
	require.NoError(t, err)
	generator, err := buildtest.Program("generator", "harness/cmd/generator")
	require.NoError(t, err)
	cpus, err := observe.CPUs()
	require.NoError(t, err)
	first, last := cpus[0].ID, cpus[len(cpus)-1].ID

	servers, generators := differentlyCached(t, queued), differentlyCached(t, generator)

	c := newFakeHost().conductor(t, Options{})
	w := &c.scenario.Workloads[0]
	w.Connections, w.Tenants, w.Queues, w.InFlight, w.Seed, w.Lease = 1, 1, 1, 8, 1, time.Minute
	w.Payload = scenario.Payload{Kind: "fixed", Min: 64, Max: 64}
	c.scenario.Topology.Listen = "tcp"
	c.duet.Together = true
	c.duet.CPUs = []result.SideCPUs{{Servers: []int{first}, Generator: []int{last}}, {Servers: []int{last}, Generator: []int{first}}}
	for i := range c.sides {
		c.scenario.Topology.TLS = i == 1
		c.sides[i].Servers, c.sides[i].Generator = []string{servers[i]}, generators[i]
		started, err := c.startProcesses(t.Context(), &result.Generation{Number: 1, First: Change}, i)
		require.NoError(t, err)
		p := started.(*processes)
		want := c.duet.CPUs[1-i]
		for pid, cpus := range map[int][]int{p.servers[0]: want.Servers, p.load.PID(): want.Generator} {
			var may unix.CPUSet
			require.NoError(t, unix.SchedGetaffinity(pid, &may))
			assert.Equal(t, len(cpus), may.Count())
			assert.True(t, may.IsSet(cpus[0]), "side %d: %v", i, cpus)
		}
		said := p.settings()
		require.Len(t, said, 1)
		assert.Contains(t, said[0].Settings, result.ServerSetting{Name: "durability", Value: "none", Origin: "flag"})
		assert.Contains(t, said[0].Settings, result.ServerSetting{Name: "runtime.gomaxprocs", Value: "1", Origin: "runtime"})
		var cycles uint64
		// On a busy host the processes may get no CPU time in a short slice.
		for length := 5 * time.Millisecond; cycles == 0; length *= 2 {
			require.Less(t, length, time.Minute)
			cycles, _, err = p.slice(t.Context(), length)
			require.NoError(t, err)
		}
		before, err := observe.ReadCodePages(p.servers[0])
		require.NoError(t, err)
		pages, err := p.code()
		require.NoError(t, err)
		if before != nil {
			assert.GreaterOrEqual(t, pages.servers.Resident, before.Resident)
			assert.Positive(t, pages.generator.Resident)
			if mapsCodeAsAsked(t) {
				assert.Zero(t, pages.servers.Large, "side %d", i)
				assert.Zero(t, pages.generator.Large, "side %d", i)
			}
		}
		_, err = p.counters(t.Context())
		require.NoError(t, err)
		assert.Equal(t, i == 1, !p.cluster.CA.IsZero())
		require.NoError(t, p.stop(t.Context()))
	}
}
