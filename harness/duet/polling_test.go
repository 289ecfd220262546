package duet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// A duet measures without busy polling, records that, and does not modify the caller's scenario.
func TestPollingIsOff(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*scenario.Scenario){
		"of the servers":    func(s *scenario.Scenario) { s.Topology.BusyPoll = true },
		"of the generators": func(s *scenario.Scenario) { s.Workloads[0].BusyPoll = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeScenario()
			ask(s)
			c, err := newConductor(s, [2]Side{{Name: "base", Servers: []string{""}}, {Name: "change", Servers: []string{""}}}, Options{Out: t.TempDir()})
			require.NoError(t, err)
			for _, of := range []*scenario.Scenario{c.scenario, &c.duet.Manifest.Scenario} {
				assert.False(t, of.Topology.BusyPoll)
				assert.False(t, of.Workloads[0].BusyPoll)
			}
			assert.Contains(t, c.duet.Warnings, pollingWarning)
			assert.True(t, s.Topology.BusyPoll || s.Workloads[0].BusyPoll)
		})
	}
	c, err := newConductor(fakeScenario(), [2]Side{{Servers: []string{""}}, {Servers: []string{""}}}, Options{Out: t.TempDir()})
	require.NoError(t, err)
	assert.Empty(t, c.duet.Warnings)
}
