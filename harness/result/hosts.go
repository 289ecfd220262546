package result

import (
	"fmt"
	"math"
)

// Hosts is what was measured between the hosts of a cluster's nodes in a round. What passes between the load generator and the nodes is not
// part of it: that has no added delay, no loss and no limit.
type Hosts struct {
	RoundTripMs float64 `json:"round_trip_ms"`          // that the scenario asks for; 0: none is added
	LossPercent float64 `json:"loss_percent,omitempty"` // that the scenario asks for
	Mbit        float64 `json:"mbit_per_s,omitempty"`   // that the scenario lets each host send to all others; 0: no limit

	// The round trips are of packets of 84 bytes between each two hosts, before the servers start, and before there is loss and a limit of
	// bandwidth.

	FloorMsP50 float64 `json:"floor_ms_p50"`         // round trip without added delay
	TripMsP50  float64 `json:"trip_ms_p50"`          // round trip with it
	TripMsP99  float64 `json:"trip_ms_p99"`          // likewise
	Pings      int     `json:"pings"`                // round trips with added delay that were measured
	PingsLost  int     `json:"pings_lost,omitempty"` // those that were not answered

	// What follows is of the window.

	Packets        uint64  `json:"packets"`              // that the forwarder delivered
	LateUsP50      float64 `json:"late_us_p50"`          // how much longer than the delay it held a packet, one way
	LateUsP99      float64 `json:"late_us_p99"`          // likewise
	LateUsMax      float64 `json:"late_us_max"`          // likewise
	ForwarderCores float64 `json:"forwarder_cores"`      // CPU seconds of the forwarder's process for each second
	RealTime       bool    `json:"real_time"`            // the forwarder ran before all processes without real-time priority
	Overflowed     uint64  `json:"overflowed,omitempty"` // packets that the forwarder, or a device, had no room for
	Received       uint64  `json:"received,omitempty"`   // packets that the hosts received from each other, the lost ones included; 0 where none is to be lost
	Lost           uint64  `json:"lost,omitempty"`       // of them those that were lost
	Shaped         uint64  `json:"shaped,omitempty"`     // packets that would have waited for bandwidth too long, and were dropped
	SentMbitMax    float64 `json:"sent_mbit_per_s_max"`  // what the host sent to the others that sent most
}

// HostsTolerance is the part of a round trip by which the measured one may be off, and the part of a loss likewise.
const HostsTolerance = 0.2

// lossSigmas is by how many standard deviations a measured loss may differ from the one asked for by chance, beside the tolerance.
const lossSigmas = 4

// LostPercent is the loss that was measured, 0 where nothing was received.
func (h *Hosts) LostPercent() float64 {
	if h.Received == 0 {
		return 0
	}
	return 100 * float64(h.Lost) / float64(h.Received)
}

// Misses says what between the hosts was not as the scenario asks, one sentence each.
func (h *Hosts) Misses() (reasons []string) {
	if off := math.Abs(h.TripMsP50 - h.RoundTripMs); h.RoundTripMs > 0 && off > HostsTolerance*h.RoundTripMs {
		reasons = append(reasons, fmt.Sprintf("the round trip between hosts was measured as %.3g ms (median), and should be %.3g ms: it may be off by %.0f %%",
			h.TripMsP50, h.RoundTripMs, 100*HostsTolerance))
	}
	if h.LossPercent > 0 {
		p := h.LossPercent / 100
		chance := lossSigmas * math.Sqrt(p/max(1, float64(h.Received))) * 100
		if off := math.Abs(h.LostPercent() - h.LossPercent); h.Received == 0 || off > HostsTolerance*h.LossPercent+chance {
			reasons = append(reasons, fmt.Sprintf("%d of %d packets between hosts were lost, %.3g %%, and %.3g %% should be",
				h.Lost, h.Received, h.LostPercent(), h.LossPercent))
		}
	}
	if h.Overflowed > 0 {
		reasons = append(reasons, fmt.Sprintf("the forwarder dropped %d packets between hosts: it could not keep up", h.Overflowed))
	}
	return reasons
}

// Late says that the forwarder held packets much longer than the delay, or "" if it did not. Packets of a burst wait for each other, as on a
// link, so that this is no reason to distrust a round.
func (h *Hosts) Late() string {
	if late := 2 * h.LateUsP50 / 1e3; h.RoundTripMs > 0 && late > HostsTolerance*h.RoundTripMs {
		return fmt.Sprintf("packets between hosts waited for each other at the forwarder: %.3g ms on a round trip (median), beside the %.3g ms asked for",
			late, h.RoundTripMs)
	}
	return ""
}

// NotMeasured is a point of a run, or a whole run, that was left out since the machine cannot do what it asks for.
type NotMeasured struct {
	Point int    `json:"point,omitempty"` // its number, of a run with a sweep
	Name  string `json:"name,omitempty"`  // of the point
	Why   string `json:"why"`
}

// String says what is missing and why.
func (n NotMeasured) String() string {
	if n.Name == "" {
		return "not measured: " + n.Why
	}
	return n.Name + " is not measured: " + n.Why
}
