package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// madeUpSerial returns a serial budget with two measured points and a skipped one.
func madeUpSerial() *result.Serial {
	idle := 2.5
	window := func(workNs float64) *result.SerialWindow {
		return &result.SerialWindow{
			WorkNs: workNs, Seconds: 2, Requests: 400_000, RequestsPerS: 200_000 - workNs*10, LongestMs: 3.25, LongestOf: 190_000, ServerCPUNs: 4_000 + workNs,
			GeneratorCPUNs: 3_900, DecideNs: 200 + workNs, Efficiency: workNs / (4_000 + workNs), IdlePercent: &idle, VoluntarySwitches: 0.0312, InvoluntarySwitches: 0.0004,
			Profile: result.SerialProfile{
				Samples: 160, Requests: 380_000, SerialNs: 310 + workNs, FutexNs: 110, YieldNs: 12,
				Stages: []result.SerialStage{{Name: "receive", Ns: 900}, {Name: "decide", Ns: 310 + workNs}, {Name: "other", Ns: 150}},
			},
		}
	}
	point := func(waits string, workNs float64) result.SerialPoint {
		return result.SerialPoint{
			Waits: waits, ServerProcs: 1, GeneratorProcs: 1, Connections: 1, InFlight: 64, Unloaded: window(0), AtBudget: window(workNs),
			Budget: &result.SerialBudget{WorkNs: workNs, LowNs: workNs - 10, HighNs: workNs + 12, Pairs: 700, PairNoise: 0.034, Seconds: 31, BaseNs: 5_000, NsPerStep: 1.7},
		}
	}
	s := &result.Serial{
		Version: result.SerialVersion, KeptShare: 0.95, SliceMs: 20,
		Points: []result.SerialPoint{
			point(result.WaitsParking, 400), point(result.WaitsSpinning, 812),
			{Waits: result.WaitsSpinning, ServerProcs: 2, GeneratorProcs: 1, Connections: 1, InFlight: 64, Skipped: "a server with GOMAXPROCS 2 does not poll: busy_poll is for GOMAXPROCS 1"},
		},
	}
	s.Points[1].Budget.Unsettled = "the time for the search was over"
	s.Points[1].AtBudget.IdlePercent = nil
	s.Manifest.Host.CPUModel, s.Manifest.Host.CPUs, s.Manifest.Build.Commit = "A CPU", 2, "0123abc"
	return s
}

// A stored result is shown unchanged.
func TestSerialShowsAStoredResult(t *testing.T) {
	inFolder(t)
	require.NoError(t, result.WriteSerial(".", madeUpSerial()))
	got := prony(t, "serial", ".")
	require.Equal(t, 0, got.code, got.stderr)
	golden.Text(t, "testdata/serial.golden", got.stdout)

	got = prony(t, "serial", "--json", ".")
	require.Equal(t, 0, got.code, got.stderr)
	var s result.Serial
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &s))
	assert.Equal(t, madeUpSerial().Points, s.Points)
}

// A serial budget has a page with a plot, which can be published and rendered again.
func TestSerialPage(t *testing.T) {
	inFolder(t)
	require.NoError(t, result.WriteSerial(".", madeUpSerial()))
	got := prony(t, "report", ".")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "report.md\n", got.stdout)
	page, err := os.ReadFile("report.md")
	require.NoError(t, err)
	golden.Text(t, "testdata/serial.md.golden", string(page))
	plot, err := os.ReadFile("serial.svg")
	require.NoError(t, err)
	for _, says := range []string{"parking", "spinning", "1/1/1×64", "budget (ns for each request)"} {
		assert.Contains(t, string(plot), says)
	}

	require.Equal(t, 0, prony(t, "report", "--publish", "reports", ".").code)
	require.Equal(t, 0, prony(t, "report", "--out", "again", "reports/data/serial").code)
	for _, file := range []string{"serial.md", "serial.svg"} {
		published, err := os.ReadFile(filepath.Join("reports", "scenarios", file))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join("again", file))
		require.NoError(t, err)
		assert.Equal(t, string(published), string(again), file)
	}

	dirty := madeUpSerial()
	dirty.Manifest.Build.Dirty = true
	require.NoError(t, result.WriteSerial(".", dirty))
	mistake(t, sheet(t), "report", "--publish", "reports", ".")
}

func TestBaselinesLeaveASerialBudgetOut(t *testing.T) {
	dir := t.TempDir()
	unlimited, err := hasNoLimits(dir)
	require.NoError(t, err)
	assert.False(t, unlimited)
	require.NoError(t, result.WriteSerial(dir, madeUpSerial()))
	unlimited, err = hasNoLimits(dir)
	require.NoError(t, err)
	assert.True(t, unlimited)
}
