package scenario

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

func TestHosts(t *testing.T) {
	all, err := Load("testdata/hosts.hcl")
	require.NoError(t, err)
	want := Hosts{RoundTrip: 2 * time.Millisecond, LossPercent: 0.1, Bandwidth: 2.5e9}
	require.Equal(t, &want, all[0].Topology.Hosts)
	golden.Text(t, "testdata/hosts.golden", want.String()+"\n"+Hosts{}.String()+"\n")

	assert.Equal(t, clusterStartExpected+hostsStartExpected, all[0].StartExpected())

	swept := all[1]
	var names []string
	for _, p := range swept.Points {
		names = append(names, p.Name)
		assert.Equal(t, BitRate(1e8), p.Topology.Hosts.Bandwidth, "attributes without a sweep do not change")
	}
	assert.Equal(t, []string{
		"round_trip=0.1ms, loss_percent=0, durability=none", "round_trip=0.1ms, loss_percent=0, durability=sync",
		"round_trip=0.1ms, loss_percent=1, durability=none", "round_trip=0.1ms, loss_percent=1, durability=sync",
		"round_trip=10ms, loss_percent=0, durability=none", "round_trip=10ms, loss_percent=0, durability=sync",
		"round_trip=10ms, loss_percent=1, durability=none", "round_trip=10ms, loss_percent=1, durability=sync",
	}, names)
	assert.Equal(t, &Hosts{RoundTrip: 10 * time.Millisecond, LossPercent: 1, Bandwidth: 1e8}, swept.Points[7].Topology.Hosts)

	text, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	golden.Text(t, "testdata/hosts.json", string(text)+"\n")
	var stored []*Scenario
	require.NoError(t, json.Unmarshal(text, &stored))
	for _, p := range swept.Points {
		at, known := stored[1].At(p.Values)
		require.True(t, known)
		assert.Equal(t, p.Topology, at.Topology, p.Name)
	}
	assert.Equal(t, swept.Topology.Hosts, stored[1].Topology.Hosts, "a point does not modify the stored scenario")
	assert.True(t, slices.Contains(all[0].Settings(), Setting{"topology.hosts.round_trip", "2ms", Unset}))
	assert.Contains(t, Differences(all[0], swept), Difference{"topology.hosts.round_trip", "2ms", "100us"})
	assert.Contains(t, swept.Work(swept.Points[7].Values), "topology.hosts.round_trip = 10ms\n")
}

// A bit rate survives formatting and parsing.
func TestBitRates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := BitRate(rapid.IntRange(1, 999999).Draw(t, "digits")) * BitRate(rapid.SampledFrom([]float64{1e3, 1e6, 1e9}).Draw(t, "unit")) / 10
		var read BitRate
		require.NoError(t, read.UnmarshalText([]byte(rate.String())))
		require.InEpsilon(t, float64(rate), float64(read), 1e-5)
	})
	for _, wrong := range []string{"", "1", "Mbit", "-1Mbit", "1MBit", "1 Mbit", "NaNMbit", "1MiB/s"} {
		require.Error(t, new(BitRate).UnmarshalText([]byte(wrong)), wrong)
	}
}
