package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The points of a stored scenario equal those of the original.
func TestPointsOfAStoredScenario(t *testing.T) {
	for name, text := range map[string]string{
		"kinds": `
  topology "single" {
    procs      = 1
    durability = "none"
  }
  sweep "topology.kind" { values = [single(), raft(1), raft(3)] }
  sweep "topology.durability" { values = ["none", "sync"] }`,
		"numbers and switches": `
  topology "raft" {
    nodes      = 3
    durability = "none"
  }
  sweep "topology.shards" { values = [1, 2] }
  sweep "topology.coalesce" { values = [true, false] }
  sweep "workload.main.workers" { values = [1, 16] }
  sweep "workload.main.lease" { values = ["10s", "1m"] }`,
		"settings that advance together": `
  topology "single" { durability = "none" }
  zip {
    sweep "workload.main.producers" { values = [1, 2] }
    sweep "workload.main.workers" { values = [4, 8] }
  }`,
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, `scenario "swept" {`+text+`
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
  }
  phases { window = "5s" }
}`)
			encoded, err := json.Marshal(s)
			require.NoError(t, err)
			var stored Scenario
			require.NoError(t, json.Unmarshal(encoded, &stored))
			require.Empty(t, stored.Points)
			require.Greater(t, len(s.Points), 1)
			for _, p := range s.Points {
				found, known := stored.At(p.Values)
				require.True(t, known, p.Name)
				// Coalescing is on by default, so nil and true are equivalent.
				if found.Topology.Coalesce == nil {
					found.Topology.Coalesce = p.Topology.Coalesce
				}
				p.Name = ""
				assert.JSONEq(t, written(t, p), written(t, found))
			}
			assert.JSONEq(t, string(encoded), written(t, stored), "a point does not modify the stored scenario")
		})
	}
}

func written(t *testing.T, v any) string {
	t.Helper()
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	return string(encoded)
}

func TestPointsThatCannotBeRebuilt(t *testing.T) {
	s := parsed(t, leastScenario)
	for _, v := range []Value{
		{"workload.main.arrivals", `rate("50k/s")`},
		{"workload.main.payload", "uniform(64, 256)"},
		{"workload.other.workers", "4"},
		{"workload.main.workers", "many"},
		{"workload.main.producers, workload.main.workers", "4"},
		{"topology.kind", "raft(x)"},
		{"phases.window", "1s"},
	} {
		_, known := s.At([]Value{v})
		assert.False(t, known, v)
	}
	p, known := s.At([]Value{{"attack.clients", "1"}})
	assert.True(t, known)
	assert.Equal(t, s.Topology, p.Topology)
}
