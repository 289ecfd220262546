package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
		assert.InDelta(t, perTask, w.Reads.PerTask(ReadGet), 1e-9, text)
	}
}

// A scenario without reads is stored as before reads existed, and so is one with reads = 0.
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

// Reads of several kinds are shares of the total number of enqueues and reads.
func TestReadsByKind(t *testing.T) {
	for text, want := range map[string]Reads{
		"reads = get(0.2)":                    {Get: 0.2},
		"reads = list(0.5)":                   {List: 0.5},
		"reads = [stats(0.25), await(1 / 4)]": {Stats: 0.25, Await: 0.25},
		"reads = [get(0.1), list(0.2), stats(0.3), await(0.4 - 0.01)]": {0.1, 0.2, 0.3, 0.39},
	} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, want, w.Reads, text)
		assert.True(t, w.ReadsTasks(), text)
	}
	w := parsed(t, readingScenario("reads = [get(0.3), list(0.1), await(0.1)]")).Workloads[0]
	assert.Equal(t, []string{ReadGet, ReadList, ReadAwait}, w.Reads.Kinds())
	assert.InDelta(t, 0.6, w.Reads.PerTask(ReadGet), 1e-9, "three of ten operations are gets, and five are enqueues")
	assert.InDelta(t, 0.2, w.Reads.PerTask(ReadList), 1e-9)
	assert.Zero(t, w.Reads.PerTask(ReadStats))
	assert.Equal(t, parsed(t, readingScenario("reads = get(0.2)")).Configuration(), parsed(t, readingScenario("reads = 0.2")).Configuration())
}

// A sweep can vary single kinds and lists of kinds. At does not support such values for a stored
// scenario.
func TestKindsOfReadsAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.reads" { values = [0, list(0.1), [get(0.2), await(0.1)], 0.2] }
}`)
	require.Len(t, s.Points, 4)
	var names []string
	var reads []Reads
	for _, p := range s.Points {
		names, reads = append(names, p.Name), append(reads, p.Workloads[0].Reads)
	}
	assert.Equal(t, []string{"reads=0", "reads=list(0.1)", "reads=[get(0.2), await(0.1)]", "reads=0.2"}, names)
	assert.Equal(t, []Reads{{}, {List: 0.1}, {Get: 0.2, Await: 0.1}, {Get: 0.2}}, reads)
	_, known := s.At(s.Points[1].Values)
	assert.False(t, known)
	p, known := s.At(s.Points[3].Values)
	assert.True(t, known)
	assert.Equal(t, Reads{Get: 0.2}, p.Workloads[0].Reads)
}

// Reads are stored as a number if all are gets, which is the format from before the other kinds
// existed.
func TestStoredReads(t *testing.T) {
	for want, reads := range map[string]Reads{
		"0.2": {Get: 0.2}, "0": {}, `{"list":0.1}`: {List: 0.1}, `{"get":0.1,"stats":0.2,"await":0.3}`: {Get: 0.1, Stats: 0.2, Await: 0.3},
	} {
		text, err := json.Marshal(reads)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		got := Reads{List: 0.9}
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, reads, got, want)
	}
	assert.Error(t, new(Reads).UnmarshalJSON([]byte(`"list(0.1)"`)))
	for text, reads := range map[string]Reads{
		"0.2": {Get: 0.2}, "list(0.1)": {List: 0.1}, "[get(0.1), await(0.3)]": {Get: 0.1, Await: 0.3},
	} {
		assert.Equal(t, text, reads.String())
	}
}

func TestSharesThatAreNone(t *testing.T) {
	require.NoError(t, Reads{Get: 0.5, Await: 0.49}.Check())
	s := golden.Cases(t, "testdata/shares.golden")
	for name, reads := range map[string]Reads{
		"one":        {Get: 1},
		"below zero": {List: -1},
		"the sum":    {Stats: 0.5, Await: 0.5},
	} {
		s.Error(t, name, reads.Check())
	}
}
