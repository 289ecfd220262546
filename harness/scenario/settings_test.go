package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const leastScenario = `scenario "least" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
  }
  phases { window = "5s" }
}`

func parsed(t *testing.T, text string) *Scenario {
	t.Helper()
	all, err := parse("test.hcl", []byte(text), nil)
	require.NoError(t, err)
	return all[0]
}

func paths(settings []Setting) (all []string) {
	for _, s := range settings {
		all = append(all, s.Path)
	}
	return all
}

func TestSettingsOfAScenarioThatSaysTheLeast(t *testing.T) {
	assert.Equal(t, []Setting{
		{"phases.window", "5s", ""},
		{"topology.durability", "sync", ""},
		{"topology.kind", "single", ""},
		{"workload.main.driver", "stream", ""},
		{"workload.main.producers", "3", ""},
		{"workload.main.workers", "4", ""},
	}, parsed(t, leastScenario).Settings())
	assert.Empty(t, (&Scenario{}).Settings(), "a run that did not record its scenario has no settings")
}

func TestSettingsNameWhatDiffers(t *testing.T) {
	s := parsed(t, `scenario "other" {
  rounds = 9
  topology "raft" {
    durability    = "interval"
    sync_interval = "20ms"
    procs         = 1
    busy_poll     = true
    coalesce      = false
  }
  workload "main" {
    driver     = "stream"
    idempotent = true
    producers  = 3
    workers    = 4
    arrivals   = rate("1k/s")
    in_flight  = 7
  }
  phases {
    warmup     = "2s"
    window     = "5s"
  }
  sweep "workload.main.batch" { values = [1, 2] }
  validity { steal_percent_max = 3 }
}`)
	settings := s.Settings()
	for _, want := range []Setting{
		{"rounds", "9", "7"},
		{"topology.sync_interval", "20ms", "10ms"},
		{"topology.procs", "1", Unset},
		{"topology.busy_poll", "true", "false"},
		{"topology.coalesce", "false", "true"},
		{"workload.main.idempotent", "true", "false"},
		{"workload.main.in_flight", "7", "1000000"},
		{"workload.main.arrivals.kind", "rate", "closed"},
		{"phases.warmup", "2s", "1s"},
		{"sweeps.workload.main.batch.values", "1, 2", Unset},
		{"validity.steal_percent_max", "3", "5"},
	} {
		assert.Contains(t, settings, want)
	}
	assert.NotContains(t, paths(settings), "topology.nodes")
}

// If Settings missed a field, two different runs would appear to be equal.
func TestSettingsSeeEveryField(t *testing.T) {
	text := `scenario "all" {
  topology "raft" { durability = "interval" }
  workload "main" {
    driver    = "stream"
    producers = 3
    workers   = 4
    payload   = lognormal(64, 256)
    keys      = zipf(1.5)
    queues    = 4
    arrivals  = burst("1k/s", "2k/s", "1s", "100ms")
  }
  phases {
    warmup     = "2s"
    window     = "10s"
  }
  sweep "workload.main.batch" { values = [1, 2] }
  invariant "conserved" {}
  fault "delay" {
    target = node("n1")
    at     = "1s"
    for    = "1s"
    delay  = "5ms"
  }
  attack { kinds = ["empty-tasks"] }
  observe { scrape = "1s" }
}`
	base := parsed(t, text)
	base.Backlog = &Backlog{Tasks: 5}
	base.Captures = []Capture{{Kind: "mutex", MutexFraction: 5}, {Kind: "block", BlockRate: time.Second}, {Kind: "trace", CycleLatency: time.Second}}
	base.Scripts = []Script{{Path: "a.js", SHA256: "1"}}
	before := base.Settings()
	require.NotEmpty(t, before)
	// An attribute of one kind of capture changes only the settings of that kind.
	changes := map[string]bool{}
	everyField(t, reflect.ValueOf(base).Elem(), "Scenario", func(path string) {
		changes[path] = changes[path] || !slices.Equal(before, base.Settings())
	})
	for path, changed := range changes {
		assert.True(t, changed, "a change of %s appears in no setting", path)
	}
	assert.Greater(t, len(changes), 60, "the walk visits the fields")

	base.Soak = &Soak{For: time.Hour, FaultsEvery: 2, Keep: SoakKeep{time.Hour, 1 << 20}, DriftPercentMax: 2, Drifts: []SoakDrift{{SoakDisk, 5, "why"}}}
	before = base.Settings()
	everyField(t, reflect.ValueOf(base.Soak).Elem(), "Soak", func(path string) {
		assert.False(t, slices.Equal(before, base.Settings()), "a change of %s appears in no setting", path)
	})
	assert.False(t, slices.ContainsFunc(before, func(s Setting) bool { return s.Path == "rounds" }), "a soak has none")
}

// walkLeft are the fields that are not settings.
var walkLeft = []string{
	"Scenario.Score",  // does not affect what is measured
	"Scenario.Limits", // do not affect what is measured
	"Scenario.Name", "Scenario.Title", "Scenario.Tags", "Scenario.File", "Scenario.Variables",
	"Scenario.Points", // derived from the sweeps
	"Scenario.Workloads[0].Name", "Scenario.Workloads[0].FirstTenant",
	"Scenario.validityUnrecorded", "Scenario.Validity.unrecorded",
}

// everyField changes each field below v, one at a time, calls seen, and restores the field.
func everyField(t *testing.T, v reflect.Value, path string, seen func(path string)) {
	t.Helper()
	if slices.Contains(walkLeft, path) {
		return
	}
	try := func(to reflect.Value) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		v.Set(to)
		seen(path)
		v.Set(was)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			everyField(t, v.Field(i), path+"."+v.Type().Field(i).Name, seen)
		}
	case reflect.Pointer:
		if v.IsNil() {
			try(reflect.New(v.Type().Elem()))
			return
		}
		// Limits may point to the defaults, which must not change.
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		was := v.Interface()
		v.Set(own)
		everyField(t, own.Elem(), path, seen)
		v.Set(reflect.ValueOf(was))
	case reflect.Slice:
		if v.Len() == 0 {
			one := reflect.MakeSlice(v.Type(), 1, 1)
			if one.Index(0).Kind() == reflect.Struct && one.Index(0).Field(0).Kind() == reflect.String {
				one.Index(0).Field(0).SetString("x")
			}
			try(one)
			return
		}
		for i := range v.Len() {
			everyField(t, v.Index(i), path+"[0]", seen)
		}
	case reflect.Map:
		try(reflect.ValueOf(map[string]string{"memory": "1GiB"}))
	case reflect.String:
		try(reflect.ValueOf(v.String() + "x").Convert(v.Type()))
	case reflect.Bool:
		try(reflect.ValueOf(!v.Bool()).Convert(v.Type()))
	case reflect.Int, reflect.Int64:
		try(reflect.ValueOf(v.Int() + int64(time.Millisecond)).Convert(v.Type()))
	case reflect.Float64:
		try(reflect.ValueOf(v.Float() + 7).Convert(v.Type()))
	default:
		t.Fatalf("%s has a kind that this test does not support: %s", path, v.Kind())
	}
}

func TestSettingsThatAnOlderFileDoesNotHave(t *testing.T) {
	s := parsed(t, leastScenario)
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	var stored map[string]any
	require.NoError(t, json.Unmarshal(encoded, &stored))
	delete(stored, "validity")
	delete(stored["workload"].(map[string]any), "seed")
	encoded, err = json.Marshal(stored)
	require.NoError(t, err)
	var old Scenario
	require.NoError(t, json.Unmarshal(encoded, &old))
	settings := old.Settings()
	assert.Contains(t, settings, Setting{"validity", NotRecorded, "the default limits"})
	assert.Contains(t, settings, Setting{"workload.main.seed", NotRecorded, "1"})
	assert.Equal(t, []Difference{{"workload.main.seed", "", "1"}}, Differences(&old, s), "a validity that was not recorded is not a difference")
}

func TestDifferences(t *testing.T) {
	base, change := parsed(t, leastScenario), parsed(t, leastScenario)
	change.Rounds, change.Title, change.File = 3, "Other", "elsewhere.hcl"
	change.Captures = []Capture{{Kind: "cpu"}}
	assert.Empty(t, Differences(base, change), "neither setting affects a timed round")
	change.Topology.BusyPoll, change.Topology.TLS = true, true
	change.Workloads[0].Workers = 5
	assert.NotEqual(t, base.Work(nil), change.Work(nil))
	assert.Equal(t, []Difference{{"topology.busy_poll", "", "true"}, {"topology.tls", "", "true"}, {"workload.main.workers", "4", "5"}}, Differences(base, change))
	assert.Equal(t, `topology.busy_poll is absent and "true"`, Differences(base, change)[0].String())
}

// defaults must return the defaults of every scenario of the repository. Otherwise pages would list
// settings that equal their defaults.
func TestDefaultsOfTheRepositorysScenarios(t *testing.T) {
	for _, pattern := range []string{"../../scenarios/*.hcl", "../../scenarios/faults/*.hcl"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			all, err := Load(file)
			require.NoError(t, err)
			for _, s := range all {
				assert.NotEmpty(t, s.defaults(), "%s in %s", s.Name, file)
			}
		}
	}
}

func TestOverrideRounds(t *testing.T) {
	s := parsed(t, leastScenario)
	assert.Zero(t, s.FileRounds)
	s.OverrideRounds(3)
	s.OverrideRounds(4)
	assert.Equal(t, 7, s.FileRounds)
	assert.Equal(t, 4, s.Rounds)
}

func TestWork(t *testing.T) {
	base, other := parsed(t, leastScenario), parsed(t, leastScenario)
	other.Name, other.Rounds, other.Validity.Warn = "other", 3, true
	other.Sweeps = []Sweep{{Path: "topology.durability", Values: []string{"sync", "none"}}}
	assert.Equal(t, base.Work(nil), other.Work([]Value{{Path: "topology.durability", Text: "sync"}}))
	assert.NotEqual(t, base.Work(nil), other.Work([]Value{{Path: "topology.durability", Text: "none"}}))
	none := parsed(t, leastScenario)
	none.Topology.Durability = "none"
	assert.Equal(t, none.Work(nil), other.Work([]Value{{Path: "topology.durability", Text: "none"}}), "a swept value counts like a value in the file")

	raft := parsed(t, strings.Replace(leastScenario, `"single"`, `"raft"`, 1))
	kinds := parsed(t, leastScenario)
	kinds.Sweeps = []Sweep{{Path: "topology.kind", Values: []string{"single()", "raft(3)"}}}
	assert.Equal(t, raft.Work(nil), kinds.Work([]Value{{Path: "topology.kind", Text: "raft(3)"}}))
	assert.NotEqual(t, raft.Work(nil), kinds.Work([]Value{{Path: "topology.kind", Text: "raft(1)"}}))
	raft.Sweeps = []Sweep{{Path: "topology.kind", Values: []string{"raft(3)", "single()"}}}
	assert.Equal(t, base.Work(nil), raft.Work([]Value{{Path: "topology.kind", Text: "single()"}}))

	other.Workloads[0].Batch = 2
	assert.NotEqual(t, base.Work(nil), other.Work([]Value{{Path: "topology.durability", Text: "sync"}}))
	old := parsed(t, leastScenario)
	old.Workloads[0].Seed = 0
	assert.Equal(t, base.Work(nil), old.Work(nil), "a seed that was not recorded counts as the default")
}

// FileRounds shows that a value for a variable reduced the number of rounds.
func TestFewerRoundsByAVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "some.hcl")
	text := "variable \"rounds\" { default = 7 }\n" + strings.Replace(leastScenario, "{\n", "{\n  rounds = var.rounds\n", 1)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for value, want := range map[string]int{"3": 7, "7": 0, "9": 0} {
		all, err := LoadWith(map[string]string{"rounds": value}, path)
		require.NoError(t, err)
		assert.Equal(t, want, all[0].FileRounds, value)
	}
	all, err := Load(path)
	require.NoError(t, err)
	assert.Zero(t, all[0].FileRounds)
}
