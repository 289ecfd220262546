package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func ofTopology(topology, more string) string {
	return "scenario \"a\" {\n" + topology + `
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
` + more + "}\n"
}

func TestServerSettingsAreRead(t *testing.T) {
	s := parsed(t, ofTopology(`topology "raft" {
    durability = "none"
    settings {
      memory = "1GiB"
      storage {
        memtable_size = "8MiB"
      }
      commit { tasks_max = 64 }
      cluster { heartbeat_timeout = "100ms" }
      metrics { tenants = false }
    }
  }`, ""))
	assert.Equal(t, map[string]string{
		"memory": "1GiB", "storage.memtable_size": "8MiB", "commit.tasks_max": "64", "cluster.heartbeat_timeout": "100ms", "metrics.tenants": "false",
	}, s.Topology.Settings)
	assert.Contains(t, s.Settings(), Setting{"topology.settings.storage.memtable_size", "8MiB", Unset})
	assert.Equal(t, "memory = 1GiB", s.Topology.ServerSettings()[2])

	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	var stored Scenario
	require.NoError(t, json.Unmarshal(encoded, &stored))
	assert.Equal(t, s.Topology, stored.Topology)
}

// Settings are part of the configuration.
func TestServerSettingsAreInTheConfiguration(t *testing.T) {
	of := func(settings string) *Scenario {
		return parsed(t, ofTopology(`topology "single" {
    durability = "none"
    `+settings+`
  }`, ""))
	}
	without, with, other := of(""), of(`settings { memory = "1GiB" }`), of(`settings { memory = "2GiB" }`)
	assert.Equal(t, without.Configuration(), of("settings {}").Configuration(), "an empty block has no effect")
	assert.NotEqual(t, without.Configuration(), with.Configuration())
	assert.NotEqual(t, with.Configuration(), other.Configuration())
	assert.Equal(t, []Difference{{"topology.settings.memory", "1GiB", "2GiB"}}, Differences(with, other))
	assert.Equal(t, []Difference{{"topology.settings.memory", "", "2GiB"}}, Differences(without, other))
}

// A sweep can vary a setting even if the topology has no settings block. It does not change other
// settings.
func TestServerSettingsAreSwept(t *testing.T) {
	for _, block := range []string{"", `settings {
      memory = "1GiB"
      storage { memtable_size = "1MiB" }
    }`} {
		s := parsed(t, ofTopology(`topology "single" {
    durability = "none"
    `+block+`
  }`, `
  sweep "topology.settings.storage.memtable_size" { values = ["8MiB", "64MiB"] }
  sweep "topology.settings.commit.group" { values = [true, false] }
`))
		require.Len(t, s.Points, 4)
		assert.Equal(t, "memtable_size=64MiB, group=false", s.Points[3].Name)
		want := map[string]string{"storage.memtable_size": "64MiB", "commit.group": "false"}
		if block != "" {
			want["memory"] = "1GiB"
		}
		assert.Equal(t, want, s.Points[3].Topology.Settings)

		encoded, err := json.Marshal(s)
		require.NoError(t, err)
		var stored Scenario
		require.NoError(t, json.Unmarshal(encoded, &stored))
		for _, p := range s.Points {
			found, known := stored.At(p.Values)
			require.True(t, known, p.Name)
			assert.Equal(t, p.Topology, found.Topology, p.Name)
			assert.Contains(t, s.Work(p.Values), "topology.settings.commit.group = "+p.Topology.Settings["commit.group"])
		}
		assert.Equal(t, s.Points[0].Topology, stored.Topology, "a point does not modify the stored scenario")
	}
}

// Problems from the caller's check of settings are reported at the place of the setting.
func TestServerSettingsAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.hcl")
	require.NoError(t, os.WriteFile(file, []byte(ofTopology(`topology "single" {
    durability = "none"
    settings {
      storage { memtable_sise = "8MiB" }
    }
  }`, `  sweep "topology.settings.memory" { values = ["1GiB", "much"] }
`)), 0o600))
	check := func(name, value string) (message, remedy string) {
		switch {
		case name == "memory" && value == "much":
			return "memory is much", "write less"
		case name == "storage.memtable_sise":
			return "unknown", "did you mean storage.memtable_size?"
		}
		return "", ""
	}
	_, err := LoadChecked(nil, Checks{Setting: check}, file)
	require.Error(t, err)
	text := strings.ReplaceAll(err.Error(), file, "a.hcl")
	golden.Text(t, "testdata/checkedsettings.golden", text+"\n")
}
