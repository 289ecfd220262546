package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func generationOf(verdict Verdict, reasons ...string) Generation {
	side := GenerationSide{Cycles: 1000, ActiveS: 2, ServerCPUNs: 4e6, ClientCPUNs: 2e6, RSSMB: 50, Goroutines: 30}
	return Generation{Verdict: verdict, Reasons: reasons, Sides: [2]GenerationSide{side, side}}
}

// The result of a side has a round for each generation that counts. The verdict reports failures of
// the other generations.
func TestADuetsSideAsAResult(t *testing.T) {
	d := &Duet{Scenario: "s", Generations: []Generation{generationOf(Pass), generationOf(Pass), generationOf(Invalid, "the host slept")}}
	r := d.Result(1, "folder")
	assert.Equal(t, Pass, r.Verdict)
	assert.Equal(t, "folder", r.Run)
	require.Len(t, r.Rounds, 2)
	for metric, want := range map[string]float64{CyclesPerS: 500, ServerCPUUsPerCycle: 4, ServerRSSMBMax: 50, ServerGoroutinesMax: 30, Lost: 0} {
		require.Contains(t, r.Metrics, metric)
		assert.InDelta(t, want, r.Metrics[metric].Median, 1e-9, metric)
		assert.Equal(t, 2, r.Metrics[metric].N)
	}
	assert.NotContains(t, r.Metrics, StorageFsyncsPerCycle, "neither side counted it")

	d.Generations = d.Generations[1:]
	r = d.Result(1, "folder")
	assert.Equal(t, Invalid, r.Verdict)
	assert.Equal(t, "1 generations count, but a verdict needs two", r.Reasons[1])

	d.Generations = append(d.Generations, generationOf(Incorrect, "one is lost"))
	d.Generations[2].Number = 3
	r = d.Result(1, "folder")
	assert.Equal(t, Incorrect, r.Verdict)
	assert.Equal(t, []string{"generation 3: one is lost"}, r.Reasons)
}
