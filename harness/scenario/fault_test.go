package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestFaultsAreReadInTheOrderInWhichTheyBegin(t *testing.T) {
	all, err := Load("testdata/faults.hcl")
	require.NoError(t, err)
	require.Len(t, all, 1)
	leader, follower := Target{Kind: TargetLeader}, Target{Kind: TargetFollower}
	assert.Equal(t, []Fault{
		{Kind: FaultKill, Target: leader, At: time.Second, For: time.Second, Times: 1},
		{Kind: FaultRestart, Target: Target{Kind: TargetEach}, At: 4 * time.Second, Every: 2 * time.Second, Times: 5},
		{Kind: FaultWipe, Target: Target{Kind: TargetNode, Node: "n5"}, At: 20 * time.Second, For: 250 * time.Millisecond, Times: 1},
		{Kind: FaultPartition, Target: leader, At: 25 * time.Second, For: time.Second, Times: 1, Direction: DirectionIn, Mode: Reset},
		{
			Kind: FaultDelay, Target: follower, At: 30 * time.Second, For: time.Second, Times: 1,
			Direction: DirectionBoth, Delay: 50 * time.Millisecond, Jitter: 10 * time.Millisecond,
		},
		{Kind: FaultBandwidth, Target: Target{Kind: TargetAll}, At: 35 * time.Second, For: time.Second, Times: 1, Direction: DirectionBoth, BytesPerS: 512 << 10},
		{Kind: FaultMembership, Target: follower, At: 40 * time.Second, For: 5 * time.Second, Times: 1},
		{Kind: FaultPause, Target: Target{Kind: TargetAll}, At: 50 * time.Second, For: 2 * time.Second, Times: 1},
	}, all[0].Faults)
	assert.Equal(t, 10*time.Second, all[0].Faults[1].Begins(3))

	text, err := json.MarshalIndent(all[0], "", "  ")
	require.NoError(t, err)
	golden.Text(t, "testdata/faults.json", string(text)+"\n")
}

func TestFaultsOfLinks(t *testing.T) {
	var ofLinks []string
	for _, kind := range faultKindNames {
		assert.Contains(t, faultKinds, kind)
		if (Fault{Kind: kind}).OfLinks() {
			ofLinks = append(ofLinks, kind)
		}
	}
	assert.Equal(t, []string{FaultPartition, FaultDelay, FaultBandwidth}, ofLinks)
	assert.Len(t, faultKinds, len(faultKindNames))
}

func TestFormatByteRate(t *testing.T) {
	for rate, want := range map[float64]string{100: "100B/s", 512 << 10: "512KiB/s", 10 << 20: "10MiB/s", 1536 << 10: "1.5MiB/s"} {
		assert.Equal(t, want, FormatByteRate(rate))
	}
}

// Results of older versions have former names of a kind and of an attribute.
func TestFormerNamesOfFaultsAreRead(t *testing.T) {
	var f Fault
	require.NoError(t, json.Unmarshal([]byte(`{"kind":"member","target":"leader()","at":"2s","for":"1s","times":1,"how":"reset"}`), &f))
	assert.Equal(t, Fault{Kind: FaultMembership, Target: Target{Kind: TargetLeader}, At: 2 * time.Second, For: time.Second, Times: 1, Mode: Reset}, f)
}
