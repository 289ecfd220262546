package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestFinalTasks(t *testing.T) {
	none, s := parsed(t, readingScenario("batch = 3")), parsed(t, readingScenario("batch = 3\n    final_tasks = true"))
	assert.False(t, none.Workloads[0].FinalTasks)
	assert.True(t, s.Workloads[0].FinalTasks)
	assert.NotEqual(t, none.Configuration(), s.Configuration())
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario("batch = 3\n    final_tasks = false")).Configuration())
	stored, err := json.Marshal(s.Workloads[0])
	require.NoError(t, err)
	var back Workload
	require.NoError(t, json.Unmarshal(stored, &back))
	assert.True(t, back.FinalTasks)
}

func TestProblemsOfFinalTasks(t *testing.T) {
	texts := golden.Cases(t, "testdata/finals.golden")
	for _, text := range []string{
		"final_tasks = 1", "batch = 1", "batch = 2\n    arrivals = rate(\"100/s\")", "batch = 2\n    fail = 0.1", "batch = 2\n    cancel = 0.1",
		"batch = 2\n    key = 0.1", "batch = 2\n    unique = until_finished(10)", "batch = 2\n    delay = share(\"1s\", 0.1)",
	} {
		if !strings.Contains(text, "final_tasks") {
			text += "\n    final_tasks = true"
		}
		_, err := parse("a.hcl", []byte(readingScenario(text)), nil)
		texts.Error(t, strings.ReplaceAll(text, "\n   ", ","), err)
	}
	of := readingScenario("batch = 2\n    final_tasks = true")
	for name, text := range map[string]string{
		"producers alone": strings.Replace(of, "workers   = 1", "workers   = 0\n    in_flight = 10", 1),
		"a backlog":       strings.TrimSuffix(of, "}") + "  backlog { tasks = 1000 }\n}",
		"an order":        strings.TrimSuffix(of, "}") + "  invariant \"ordered\" {}\n}",
	} {
		_, err := parse("a.hcl", []byte(text), nil)
		texts.Error(t, name, err)
	}
}
