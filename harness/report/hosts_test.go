package report_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The page shows the configured and the measured network side by side, and lists the skipped
// points.
func TestPageOfHosts(t *testing.T) {
	r, hists := raftFixture(t)
	before := rendered(t, r, hists)["fixture.md"]
	r.Manifest.Scenario.Sweeps = nil
	r.Manifest.Scenario.Topology.Hosts = &scenario.Hosts{RoundTrip: 2 * time.Millisecond, LossPercent: 0.5, Bandwidth: 1e8}
	r.NotMeasured = []result.NotMeasured{{Point: 3, Name: "shards=4, workers=8", Why: "loss: no nftables"}}
	r.Rounds[0].WindowSeconds = 2
	r.Rounds[0].Hosts = &result.Hosts{
		RoundTripMs: 2, LossPercent: 0.5, Mbit: 100, FloorMsP50: 0.0625, TripMsP50: 2.03125, TripMsP99: 2.5, Pings: 299, PingsLost: 1,
		Packets: 20000, LateUsP50: 3, LateUsP99: 17, LateUsMax: 250, ForwarderCores: 0.125, RealTime: true,
		Received: 20000, Lost: 110, Shaped: 7, SentMbitMax: 64,
	}
	page := rendered(t, r, hists)["fixture.md"]
	sheet(t).Equal(t, "page", added(before, page))
	assert.NotContains(t, page, "no packet leaves it")
	r.Rounds[0].Hosts = &result.Hosts{TripMsP50: 1}
	r.NotMeasured = nil
	page = rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, page, "packets lost")
	assert.NotContains(t, page, "bandwidth, Mbit/s")
	assert.NotContains(t, page, "Not measured")
	r.Rounds[0].Hosts = nil
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "Between the hosts")
}
