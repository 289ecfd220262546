package report_test

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// anatomyFixture is the fixture with a cycle's parts. Its values are invented.
func anatomyFixture(t *testing.T) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := fixture(t, 2, 1)
	for i := range r.Rounds {
		round := &r.Rounds[i]
		stage := func(name string, n uint64, ms float64) result.Stage {
			buckets := make([]uint64, 25)
			buckets[bits.Len64(uint64(ms*1e3))] = n
			return result.StageOf(name, ms*float64(n), buckets)
		}
		batches := round.Cycles / 10
		round.Stages = []result.Stage{
			stage("receive", batches, 0.005), stage("inbox", batches, 0.01), stage("decide", batches, 0.004), stage("apply", batches, 0.006),
			stage("commit_wait", batches, 0.002), stage("commit", batches, 0.001), stage("reply", batches, 0.003), stage("ready", round.Cycles, 0.06),
		}
		n := float64(round.Cycles)
		round.StorageSteps = &result.StorageSteps{Cycles: n, Steps: []result.StorageStep{
			{Name: result.StepEnqueue, Encodes: n, EncodedBytes: 74 * n},
			{Name: result.StepClaim, Encodes: n / 10, EncodedBytes: 18 * n, Gets: n / 1000, ScannedKeys: n / 500, Decodes: n / 1000},
			{Name: result.StepSettle, Deletes: n / 1000},
			{Name: result.StepCommit, Sets: n / 5, SetBytes: 12 * n, Encodes: n / 5, EncodedBytes: 11 * n},
			{Name: result.StepOther},
		}}
		round.CycleTime = &result.CycleTime{WorkMs: 0.01}
		round.Metrics[result.ServerSwitchesPerCycle], round.Metrics[result.ClientSwitchesPerCycle] = 0.25*float64(i+1), 1.5
		round.Derive(hists[i].Histograms)
	}
	metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad)
	require.NoError(t, err)
	r.Metrics = metrics
	cpu := &r.Profiles[4]
	require.Equal(t, "cpu", cpu.Kind)
	cpu.Rounds, cpu.Cycles, cpu.Total = 1, r.Rounds[2].Cycles, 9e9
	cpu.Top = []result.ProfileEntry{{Function: "runtime.memmove", Flat: 9e8, Cum: 9e8, Share: 0.1}}
	cpu.Areas = []result.ProfileArea{
		{Name: result.AreaRPC, Value: 4e9}, {Name: result.AreaQueue, Value: 1e9}, {Name: result.AreaScheduler, Value: 3e9}, {Name: result.AreaOther, Value: 1e9},
	}
	return r, hists
}

// The plot has a bar for the time of the cycle and one for the CPU time, with their parts. Without
// a CPU profile there is no plot.
func TestPlotOfTheAnatomy(t *testing.T) {
	r, hists := anatomyFixture(t)
	plot := rendered(t, r, hists)["fixture-anatomy.svg"]
	sheet(t).Equal(t, "plot", labels(plot))
	assert.Equal(t, 1, strings.Count(plot, "all others</text>"), "only the time has more than eight parts")
	areas := &r.Profiles[4].Areas
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		*areas = append(*areas, result.ProfileArea{Name: name, Value: 1e6})
	}
	assert.Equal(t, 2, strings.Count(rendered(t, r, hists)["fixture-anatomy.svg"], "all others</text>"))
	*areas = nil
	assert.NotContains(t, rendered(t, r, hists), "fixture-anatomy.svg")
}

// The golden file under testdata has the section of a run with all parts.
func TestGoldenAnatomy(t *testing.T) {
	r, hists := anatomyFixture(t)
	of := sections(rendered(t, r, hists)["fixture.md"])
	got := of["Anatomy of a cycle"]
	golden.Text(t, "testdata/golden/anatomy.md", got)
	s := sheet(t)
	s.Equal(t, "stages", of["Stages of the pipeline"])
	plain, plainHists := fixture(t, 2, 1)
	s.Equal(t, "summary", added(rendered(t, plain, plainHists)["fixture.md"], of["Summary"]))
}

// The page reports a cycle whose unattributed time exceeds the limit of the check.
func TestACycleThatDoesNotAddUpSaysSo(t *testing.T) {
	r, hists := anatomyFixture(t)
	before := rendered(t, r, hists)["fixture.md"]
	for i := range r.Rounds {
		r.Rounds[i].CycleTime.ReadyMs = 0
	}
	sheet(t).Equal(t, "the check fails", added(before, rendered(t, r, hists)["fixture.md"]))
}

// A run of an older build has no section, and a run with one of the parts shows that part.
func TestAnatomyShowsWhatThereIs(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	assert.NotContains(t, sections(rendered(t, r, hists)["fixture.md"]), "Anatomy of a cycle")

	r, hists = anatomyFixture(t)
	for i := range r.Rounds {
		r.Rounds[i].CycleTime, r.Rounds[i].StorageSteps = nil, nil
	}
	of := sections(rendered(t, r, hists)["fixture.md"])["Anatomy of a cycle"]
	sheet(t).Equal(t, "CPU time alone", of)
}
