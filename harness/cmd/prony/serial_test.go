package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// madeUpSerial is a stored serial budget of two points that were measured, and one that was not.
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
			Budget: &result.SerialBudget{WorkNs: workNs, LowNs: workNs - 10, HighNs: workNs + 12, Pairs: 700, Seconds: 31, BaseNs: 5_000, NsPerStep: 1.7},
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

// A stored result is shown as it was when it was measured. After an intended change: go test ./cmd/prony -run Serial -rewrite.
func TestSerialShowsAStoredResult(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	inFolder(t)
	require.NoError(t, result.WriteSerial(".", madeUpSerial()))
	got := prony(t, "serial", ".")
	require.Equal(t, 0, got.code, got.stderr)
	path := filepath.Join(here, "testdata", "serial.golden")
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got.stdout), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.stdout)

	got = prony(t, "serial", "--json", ".")
	require.Equal(t, 0, got.code, got.stderr)
	var s result.Serial
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &s))
	assert.Equal(t, madeUpSerial().Points, s.Points)
}

func TestSerialThatIsRefused(t *testing.T) {
	dir := inFolder(t)
	for says, args := range map[string][]string{
		"--connections 0 is not 1 to 256":                {"--connections", "0,1"},
		"--search 10ms is not 1s to 1h0m0s":              {"--search", "10ms"},
		`--waits "both" is neither parking nor spinning`: {"--waits", "both"},
		"no such file": {"nowhere"},
		"the working directory is in no git repository: work in": {},
	} {
		got := prony(t, append([]string{"serial"}, args...)...)
		assert.Equal(t, 2, got.code, says)
		assert.Contains(t, got.stderr, says)
		assert.Empty(t, got.stdout)
	}
	assert.NoDirExists(t, filepath.Join(dir, defaultOut))
}
