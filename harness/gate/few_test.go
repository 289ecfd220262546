package gate

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

// atMost2 draws a number of samples from 0 to 2.
func atMost2(t *rapid.T, of string) int { return rapid.IntRange(0, 2).Draw(t, of) }

// fewCycles draws rounds with so few samples that many of their figures would be a fraction of 0.
func fewCycles(t *rapid.T) (rounds []result.Round, hists []result.RoundHistograms) {
	for number := range atMost2(t, "rounds") + 1 {
		r := result.Round{
			Number: number + 1, Profiled: number > 0 && rapid.Bool().Draw(t, "profiled"), Verdict: result.Pass, Started: time.Unix(1, 0),
			WindowSeconds: float64(atMost2(t, "seconds")), Cycles: uint64(atMost2(t, "cycles")), Enqueues: uint64(atMost2(t, "enqueues")),
			Metrics: map[string]float64{}, Ledger: result.Ledger{Reads: uint64(atMost2(t, "reads"))},
		}
		if rapid.Bool().Draw(t, "stages have separate cover") {
			r.StagesOf = &result.Covering{Cycles: uint64(atMost2(t, "cycles of stages")), Seconds: float64(atMost2(t, "seconds of stages"))}
		}
		for _, name := range []string{result.StageReceive, result.StageDecide, result.StageApply, result.StageCommit, result.StageReplicate} {
			if n := atMost2(t, name); n > 0 {
				r.Stages = append(r.Stages, result.StageOf(name, float64(atMost2(t, name+" took")), []uint64{0, uint64(n - 1)}))
			}
		}
		for _, name := range []string{result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.StorageFsyncsPerCycle, result.StorageFsyncUsPerCycle} {
			r.Metrics[name] = rapid.SampledFrom([]float64{0, 1, math.Inf(1), math.NaN()}).Draw(t, name)
		}
		h := result.NewHistograms()
		for range atMost2(t, "latencies") {
			require.NoError(t, h.Enqueue.RecordValue(int64(atMost2(t, "latency"))))
			require.NoError(t, h.Cycle.RecordValue(int64(atMost2(t, "latency"))))
		}
		r.Derive(h)
		rounds, hists = append(rounds, r), append(hists, result.RoundHistograms{Round: number + 1, Histograms: h})
	}
	return rounds, hists
}

// A result of very few samples can be stored with all its explanations.
func TestAResultOfFewSamplesIsStored(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		rounds, hists := fewCycles(rt)
		started := time.Unix(int64(n), 0)
		r := &result.Result{
			Version: result.Version, Run: result.NewID(started, "few"), Scenario: "few", Started: started, Finished: started,
			Verdict: result.Invalid, Rounds: rounds,
		}
		// The error names the missing metrics.
		r.Metrics, _ = result.Summarise(rounds, hists, result.OfLoad)
		for _, kind := range []string{"cpu", "allocs"} {
			for range atMost2(rt, kind) {
				r.Profiles = append(r.Profiles, result.Profile{
					Kind: kind, Unit: "nanoseconds", Total: float64(atMost2(rt, "total")), Cycles: uint64(atMost2(rt, "cycles of a profile")),
					Charges: []result.Charge{{Function: "f", Value: float64(atMost2(rt, "charged")), Samples: uint64(4 * atMost2(rt, "samples"))}},
				})
			}
		}
		for range atMost2(rt, "locks") {
			r.Locks = append(r.Locks, result.Lock{Name: "mu", WaitNsPerCycle: float64(atMost2(rt, "waits"))})
		}
		Describe(r)
		require.Empty(rt, r.Warnings)
		f, err := result.Create(dir, r.Run)
		require.NoError(rt, err)
		require.NoError(rt, f.Store(r, hists))
		assert.Empty(rt, r.Warnings, "no explanation may be left out")
		other := *r
		causes, _, err := Explain([]result.Arm{{Name: "base", Result: r}}, result.Arm{Name: "change", Result: &other})
		require.NoError(rt, err)
		_, err = json.Marshal(causes)
		require.NoError(rt, err)
	})
}

// A duet whose generations completed few or no cycles can be stored, and so can its comparison.
func TestADuetOfFewSamplesIsStored(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		d := &result.Duet{Version: result.DuetVersion, Scenario: "few"}
		for number := range 1 + atMost2(rt, "generations") {
			g := result.Generation{Number: number + 1, Verdict: result.Pass, Seconds: float64(atMost2(rt, "seconds"))}
			for i := range g.Sides {
				g.Sides[i] = result.GenerationSide{
					Cycles: uint64(atMost2(rt, "cycles")), ActiveS: float64(atMost2(rt, "active")), ServerCPUNs: int64(atMost2(rt, "server CPU")),
					ClientCPUNs: int64(atMost2(rt, "client CPU")), RSSMB: float64(atMost2(rt, "RSS")),
				}
				for range atMost2(rt, "slices") {
					g.Slices = append(g.Slices, result.Slice{Side: i, Seconds: float64(atMost2(rt, "slice")), Cycles: uint64(atMost2(rt, "cycles of a slice"))})
				}
			}
			d.Generations = append(d.Generations, g)
		}
		require.NoError(rt, result.WriteDuet(dir, d))
		policy := DefaultDuetPolicy()
		c := JudgeDuet(d, policy.Looks, policy)
		require.NoError(rt, result.WriteComparison(dir, c))
		assert.NotContains(rt, c.Warnings, "an explanation was dropped")
		for side := range 2 {
			_, err := json.Marshal(d.Result(side, "run"))
			require.NoError(rt, err)
		}
	})
}
