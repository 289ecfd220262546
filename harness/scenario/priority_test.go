package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPriorities(t *testing.T) {
	for text, want := range map[string]Priority{
		"":                               {},
		"priority = uniform(0, 0)":       {},
		"priority = share(0, 0.5)":       {},
		"priority = uniform(0, 9)":       {Kind: PriorityUniform, Max: 9},
		"priority = uniform(3, 3)":       {Kind: PriorityUniform, Min: 3, Max: 3},
		"priority = share(9, 0.1)":       {Kind: PriorityShare, Max: 9, Part: 0.1},
		"priority = share(9, 1)":         {Kind: PriorityShare, Max: 9, Part: 1},
		"priority = share(4 + 1, 1 / 4)": {Kind: PriorityShare, Max: 5, Part: 0.25},
	} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, want, w.Priority, text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.Equal(t, w.Priority, back.Priority, text)
	}
	assert.Equal(t, "share(9, 0.1)", Priority{Kind: PriorityShare, Max: 9, Part: 0.1}.String())
	assert.Equal(t, "uniform(1, 9)", Priority{Kind: PriorityUniform, Min: 1, Max: 9}.String())
}

// A scenario without priorities is stored as before priorities existed, and so is one with priority
// 0 for all tasks.
func TestNoPrioritiesAreTheDefault(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.NotContains(t, none.Work(nil), "priority")
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario("priority = uniform(0, 0)")).Configuration())
	assert.NotEqual(t, none.Configuration(), parsed(t, readingScenario("priority = uniform(0, 9)")).Configuration())
}

func TestPrioritiesAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.priority" { values = [uniform(0, 0), share(9, 0.1)] }
}`)
	require.Len(t, s.Points, 2)
	assert.True(t, s.Points[0].Workloads[0].Priority.IsZero())
	assert.Equal(t, Priority{Kind: PriorityShare, Max: 9, Part: 0.1}, s.Points[1].Workloads[0].Priority)
}
