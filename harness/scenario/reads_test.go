package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readingScenario(reads string) string {
	return `scenario "s" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
` + reads + `
  }
  phases { window = "5s" }
}`
}

func TestReadsAreAShare(t *testing.T) {
	for text, perTask := range map[string]float64{"": 0, "reads = 0": 0, "reads = 0.2": 0.25, "reads = 0.5": 1, "reads = 0.9": 9} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, perTask > 0, w.ReadsTasks(), text)
		assert.InDelta(t, perTask, w.ReadsPerTask(), 1e-9, text)
	}
}

// A scenario without reads is what it was before there were any, and no reads are the same as none given.
func TestNoReadsAreTheDefault(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.NotContains(t, none.Work(nil), "reads")
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario("reads = 0")).Configuration())
	some := parsed(t, readingScenario("reads = 0.2"))
	assert.NotEqual(t, none.Configuration(), some.Configuration())
	assert.Contains(t, some.Work(nil), "workload.main.reads = 0.2")
	assert.Contains(t, some.Settings(), Setting{"workload.main.reads", "0.2", Unset})
}

func TestReadsAreSwept(t *testing.T) {
	text := strings.TrimSuffix(readingScenario(""), "}") + `  sweep "workload.main.reads" { values = [0, 0.2] }
}`
	s := parsed(t, text)
	require.Len(t, s.Points, 2)
	assert.Equal(t, []string{"reads=0", "reads=0.2"}, []string{s.Points[0].Name, s.Points[1].Name})
	assert.False(t, s.Points[0].Workloads[0].ReadsTasks())
	assert.True(t, s.Points[1].Workloads[0].ReadsTasks())
}
