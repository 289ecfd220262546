package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The sweeps of a zip may repeat a value, so that each point can have a different combination of
// observations.
func TestObservingIsSwept(t *testing.T) {
	all, err := Load("../../scenarios/observing.hcl")
	require.NoError(t, err)
	s := all[0]
	points := s.Plan()
	require.Len(t, points, 4)
	for i, want := range []struct {
		observe Observe
		level   string
	}{{Observe{}, "info"}, {Observe{Scrape: time.Second}, "info"}, {Observe{}, "debug"}, {Observe{Profiles: true}, "info"}} {
		assert.Equal(t, &want.observe, points[i].Observe, i)
		assert.Equal(t, want.level, points[i].Topology.Settings["log.level"], i)
	}
	assert.Empty(t, points[0].Observe.Captures())
	var kinds []string
	for _, c := range points[3].Observe.Captures() {
		kinds = append(kinds, c.Kind)
	}
	assert.Equal(t, []string{"cpu", "mutex", "block"}, kinds)
	assert.Empty(t, (*Observe)(nil).Captures())

	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"observe":{"profiles":false}`)
	var read Scenario
	require.NoError(t, json.Unmarshal(text, &read))
	for i, p := range points {
		at, known := read.At(p.Values)
		require.True(t, known)
		assert.Equal(t, p.Observe, at.Observe, i)
	}
	assert.Equal(t, &Observe{}, read.Observe, "a point does not modify the scenario")
}

func TestObserveIsStored(t *testing.T) {
	text, err := json.Marshal(Observe{Scrape: 1500 * time.Millisecond, Profiles: true})
	require.NoError(t, err)
	assert.JSONEq(t, `{"scrape":"1.5s","profiles":true}`, string(text))
	var read Observe
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, Observe{Scrape: 1500 * time.Millisecond, Profiles: true}, read)
	assert.NotContains(t, mustJSON(t, parsed(t, leastScenario)), "observe", "a scenario without the block is stored as before")
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
