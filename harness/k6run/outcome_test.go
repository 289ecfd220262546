package k6run

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func drawHistogram(t *rapid.T, name string) *hdrhistogram.Histogram {
	h := result.NewHistogram()
	for ns, n := range rapid.MapOf(rapid.Int64Range(0, int64(result.LatencyHighest)), rapid.Int64Range(1, 1e9)).Draw(t, name) {
		require.NoError(t, h.RecordValues(ns, n))
	}
	return h
}

func drawRefusals(t *rapid.T, name string) load.Refusals {
	return load.Refusals{Count: rapid.Uint64().Draw(t, name), First: rapid.String().Draw(t, name+" first")}
}

// requireSame compares two outcomes, and histograms by their recorded values.
func requireSame(t require.TestingT, want, got load.Outcome) {
	same := func(want, got **hdrhistogram.Histogram) {
		require.Equal(t, (*want).Distribution(), (*got).Distribution())
		*want, *got = nil, nil
	}
	same(&want.EnqueueLatency, &got.EnqueueLatency)
	same(&want.SettleLatency, &got.SettleLatency)
	same(&want.CycleLatency, &got.CycleLatency)
	if want.Open != nil && got.Open != nil {
		w, g := *want.Open, *got.Open
		same(&w.Slip, &g.Slip)
		same(&w.Service, &g.Service)
		want.Open, got.Open = &w, &g
	}
	require.Equal(t, want, got)
}

func TestOutcomeComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string) uint64 { return rapid.Uint64().Draw(t, name) }
		begin := time.Now()
		phases := scenario.Phases{
			Warmup: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "warmup")),
			Window: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "window")),
		}
		start := begin.Add(phases.Warmup)
		o := load.Outcome{
			Launched: begin, WindowStart: start, WindowEnd: start.Add(phases.Window), Window: phases.Window,
			Finished: begin.Add(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "finished"))),
			Cycles:   count("cycles"), Enqueued: count("enqueued"), Clamped: count("clamped"),
			EnqueueLatency: drawHistogram(t, "enqueue"), SettleLatency: drawHistogram(t, "settle"), CycleLatency: drawHistogram(t, "cycle"),
			RefusedEnqueues: drawRefusals(t, "enqueues"), RefusedCompletions: drawRefusals(t, "completions"), FailedCalls: drawRefusals(t, "calls"),
			Drained: rapid.Bool().Draw(t, "drained"), Draining: rapid.Bool().Draw(t, "draining"),
		}
		if rapid.Bool().Draw(t, "open") {
			o.Open = &load.Open{
				Arrivals: result.Arrivals{
					PerSecond: rapid.Float64Range(0, 1e9).Draw(t, "rate"), Scheduled: count("scheduled"), Finished: count("done"),
					Unfinished: count("unfinished"), Unsent: count("unsent"), Dropped: count("dropped"), Refused: count("refused"), Held: count("held"),
				},
				Slip: drawHistogram(t, "slip"), Service: drawHistogram(t, "service"),
			}
		}
		balance := result.Ledger{Enqueued: count("stored"), Lost: count("lost"), Samples: []string{rapid.String().Draw(t, "sample")}}

		encoded, err := Encode(&o, balance)
		require.NoError(t, err)
		text, err := json.Marshal(Report{Outcome: encoded})
		require.NoError(t, err)
		var m Report
		require.NoError(t, json.Unmarshal(text, &m))
		require.Equal(t, balance, m.Outcome.Ledger)
		got, err := m.Outcome.Load(begin, phases)
		require.NoError(t, err)
		requireSame(t, o, *got)
	})
}

func TestOutcomeThatCannotBeRead(t *testing.T) {
	whole := func() *Outcome {
		h, err := result.NewHistograms().Encode()
		require.NoError(t, err)
		return &Outcome{Histograms: h}
	}
	_, err := whole().Load(time.Now(), scenario.Phases{})
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/outcomes.golden")
	for name, c := range map[string]struct {
		change func(*Outcome)
	}{
		"no histograms":    {func(o *Outcome) { o.Histograms = nil }},
		"damaged":          {func(o *Outcome) { o.Histograms["cycle"] = "AAAA" }},
		"not known":        {func(o *Outcome) { o.Histograms["mood"] = o.Histograms["cycle"] }},
		"before the start": {func(o *Outcome) { o.FinishedNS = -1 }},
		"open without slip": {func(o *Outcome) {
			o.Open, o.Histograms["service"] = &result.Arrivals{}, o.Histograms["cycle"]
		}},
		"closed with slip": {func(o *Outcome) { o.Histograms["slip"] = o.Histograms["cycle"] }},
	} {
		t.Run(name, func(t *testing.T) {
			o := whole()
			c.change(o)
			_, err := o.Load(time.Now(), scenario.Phases{})
			s.Error(t, name, err)
		})
	}
	_, err = Encode(&load.Outcome{EnqueueLatency: result.NewHistogram()}, result.Ledger{})
	s.Error(t, "a part of the histograms", err)
}
