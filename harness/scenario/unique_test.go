package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestUnique(t *testing.T) {
	none := parsed(t, readingScenario(""))
	for text, want := range map[string]Unique{"": {}, "unique = until_finished(0)": {}, "unique = until_finished(10)": {"until_finished", 10}} {
		s := parsed(t, readingScenario(text))
		w := s.Workloads[0]
		assert.Equal(t, want, w.Unique, text)
		assert.Equal(t, want.Keys > 0, w.HasUniqueKeys(), text)
		assert.Equal(t, want.Keys > 0, strings.Contains(s.Work(nil), "workload.main.unique.keys = 10"), text)
		assert.Equal(t, want.Keys == 0, none.Configuration() == s.Configuration(), text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.Equal(t, want, back.Unique, text)
	}
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.unique" { values = [until_finished(0), until_finished(5)] }
}`)
	require.Len(t, s.Points, 2)
	assert.Equal(t, 5, s.Points[1].Workloads[0].Unique.Keys)
}

func TestProblemsOfUnique(t *testing.T) {
	texts := golden.Cases(t, "testdata/unique.golden")
	for _, text := range []string{
		"unique = 10", "unique = until_done(10)", "unique = until_finished()", "unique = until_finished(-1)", "unique = until_finished(1.5)",
		"unique = until_finished(2000000)", `unique = until_finished("many")`,
		"unique = until_finished(10)\n    key = 0.1", "unique = until_finished(10)\n    idempotent = true",
		"unique = until_finished(10)\n    arrivals = rate(\"100/s\")",
	} {
		_, err := parse("a.hcl", []byte(readingScenario(text)), nil)
		texts.Error(t, strings.ReplaceAll(text, "\n   ", ","), err)
	}
	for name, text := range map[string]string{
		"producers alone": `scenario "s" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 2
    workers   = 0
    in_flight = 100
    unique    = until_finished(10)
  }
  phases { window = "5s" }
}`,
		"a backlog": strings.TrimSuffix(readingScenario("unique = until_finished(10)"), "}") + "  backlog { tasks = 1000 }\n}",
	} {
		_, err := parse("a.hcl", []byte(text), nil)
		texts.Error(t, name, err)
	}
}
