package scenario

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigurationIsOfWhatIsMeasured(t *testing.T) {
	want := parsed(t, leastScenario).Configuration()
	assert.Regexp(t, "^[0-9a-f]{12}$", want)
	for name, change := range map[string]func(*Scenario){
		"title":      func(s *Scenario) { s.Title = "Another" },
		"tags":       func(s *Scenario) { s.Tags = []string{"smoke"} },
		"captures":   func(s *Scenario) { s.Captures = []Capture{{Kind: "cpu"}} },
		"validity":   func(s *Scenario) { s.Validity.Warn = true },
		"rounds":     func(s *Scenario) { s.OverrideRounds(2) },
		"limits":     func(s *Scenario) { s.Limits = []Limit{{Metric: "cycles_per_s", Min: new(1.0)}} },
		"references": func(s *Scenario) { s.References = []string{ReferenceCPU} },
		"file":       func(s *Scenario) { s.File = "elsewhere.hcl" },
		"soak": func(s *Scenario) {
			s.Soak = &Soak{For: 1, Keep: SoakKeep{1, 1 << 20}, DriftPercentMax: 3, Drifts: []SoakDrift{{SoakDisk, 5, "why"}}}
		},
		"script's path": func(s *Scenario) { s.Workloads[0].Script.Path = "elsewhere.js" },
	} {
		s := parsed(t, leastScenario)
		change(s)
		assert.Equal(t, want, s.Configuration(), name)
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*Scenario){
		"nothing":    func(*Scenario) {},
		"durability": func(s *Scenario) { s.Topology.Durability = "none" },
		"reads":      func(s *Scenario) { s.Workloads[0].Reads = Reads{Get: 0.2} },
		"lists":      func(s *Scenario) { s.Workloads[0].Reads = Reads{List: 0.2} },
		"both":       func(s *Scenario) { s.Workloads[0].Reads = Reads{Get: 0.2, List: 0.2} },
		"priority":   func(s *Scenario) { s.Workloads[0].Priority = Priority{Kind: PriorityUniform, Max: 9} },
		"fail":       func(s *Scenario) { s.Workloads[0].Fail = 0.1 },
		"delay":      func(s *Scenario) { s.Workloads[0].Delay = Delay{Time: 1000, Part: 0.1} },
		"result":     func(s *Scenario) { s.Workloads[0].Result = Results{Size: 64, Part: 0.1} },
		"extend":     func(s *Scenario) { s.Workloads[0].Extend = 0.1 },
		"key":        func(s *Scenario) { s.Workloads[0].Key = 0.1 },
		"backoff":    func(s *Scenario) { s.Workloads[0].Backoff = 1000 },
		"workers":    func(s *Scenario) { s.Workloads[0].Workers++ },
		"script":     func(s *Scenario) { s.Workloads[0].Script.SHA256 = "1" },
		"scripts":    func(s *Scenario) { s.Scripts = []Script{{"a.js", "1"}, {"b.js", "2"}} },
		"window":     func(s *Scenario) { s.Phases.Window++ },
		"sweep":      func(s *Scenario) { s.Sweeps = []Sweep{{"topology.shards", []string{"1", "2"}}} },
		"values":     func(s *Scenario) { s.Sweeps = []Sweep{{"topology.shards", []string{"2", "1"}}} },
		"fault":      func(s *Scenario) { s.Faults = []Fault{{Kind: "kill"}} },
		"backlog":    func(s *Scenario) { s.Backlog = &Backlog{Tasks: 5} },
		"attack":     func(s *Scenario) { s.Attack = &Attack{Clients: 1} },
		"observe":    func(s *Scenario) { s.Observe = &Observe{Scrape: 1000} },
		"series":     func(s *Scenario) { s.SeriesEvery = 1000 },
		"soak":       func(s *Scenario) { s.Soak = &Soak{FaultsEvery: 2} },
		"invariants": func(s *Scenario) { s.Invariants = []Invariant{{Kind: Conserved}} },
	} {
		s := parsed(t, leastScenario)
		change(s)
		hash := s.Configuration()
		assert.NotContains(t, seen, hash, name)
		seen[hash] = name
	}
}

// The configuration of a point does not depend on the other points or their number.
func TestConfigurationAtAPoint(t *testing.T) {
	swept := parsed(t, leastScenario)
	swept.Sweeps = []Sweep{{"topology.shards", []string{"1", "2"}}}
	other := parsed(t, leastScenario)
	other.Sweeps = []Sweep{{"topology.shards", []string{"1", "4", "2"}}}
	at := func(s *Scenario, shards string) string {
		return s.ConfigurationAt([]Value{{"topology.shards", shards}})
	}
	assert.Equal(t, at(swept, "2"), at(other, "2"))
	assert.NotEqual(t, at(swept, "1"), at(swept, "2"))
	assert.NotEqual(t, swept.Configuration(), at(swept, "1"))
	assert.Equal(t, parsed(t, leastScenario).Configuration(), at(swept, "1"), "the configuration equals that of the scenario without the sweep")
}

// A result has the configuration of the scenario that was run.
func TestConfigurationOfAStoredScenario(t *testing.T) {
	for _, pattern := range []string{"../../scenarios/*.hcl", "../../scenarios/faults/*.hcl", "../../scenarios/soak/*.hcl"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		all, err := Load(files...)
		require.NoError(t, err)
		for _, s := range all {
			encoded, err := json.Marshal(s)
			require.NoError(t, err)
			var stored Scenario
			require.NoError(t, json.Unmarshal(encoded, &stored))
			assert.Equal(t, s.Configuration(), stored.Configuration(), s.Name)
		}
	}
}
