package result

import (
	"fmt"
	"math"
)

// Hosts contains the measurements of the network between the hosts of a cluster's nodes in a round.
// Traffic between the load generator and the nodes is excluded: no delay, loss or bandwidth limit
// is added to it.
type Hosts struct {
	// RoundTripMs is the round trip that the scenario requests; 0 if no delay is added.
	RoundTripMs float64 `json:"round_trip_ms"`
	LossPercent float64 `json:"loss_percent,omitempty"` // requested by the scenario
	// Mbit is the bandwidth of each host to all others, from the scenario; 0 for no limit.
	Mbit float64 `json:"mbit_per_s,omitempty"`

	// The round trips are measured with packets of 84 bytes between every two hosts, before the
	// servers start and before loss and the bandwidth limit are in effect.

	FloorMsP50 float64 `json:"floor_ms_p50"`         // round trip without added delay
	TripMsP50  float64 `json:"trip_ms_p50"`          // round trip with added delay
	TripMsP99  float64 `json:"trip_ms_p99"`          // round trip with added delay
	Pings      int     `json:"pings"`                // measured round trips with added delay
	PingsLost  int     `json:"pings_lost,omitempty"` // pings without an answer

	// The following figures are measured during the window.

	Packets uint64 `json:"packets"` // packets that the forwarder delivered
	// LateUsP50 is the one-way delay of a packet at the forwarder, in addition to the requested
	// delay.
	LateUsP50 float64 `json:"late_us_p50"`
	LateUsP99 float64 `json:"late_us_p99"` // see LateUsP50
	LateUsMax float64 `json:"late_us_max"` // see LateUsP50
	// ForwarderCores is the CPU seconds of the forwarder's process per second.
	ForwarderCores float64 `json:"forwarder_cores"`
	RealTime       bool    `json:"real_time"` // the forwarder had real-time priority
	// Overflowed counts packets dropped because the forwarder or a device was full.
	Overflowed uint64 `json:"overflowed,omitempty"`
	// Received counts packets between hosts, including lost ones; 0 without loss.
	Received uint64 `json:"received,omitempty"`
	// Lost counts the packets of Received that were lost.
	Lost uint64 `json:"lost,omitempty"`
	// Shaped counts packets dropped because they would have waited too long for bandwidth.
	Shaped      uint64  `json:"shaped,omitempty"`
	SentMbitMax float64 `json:"sent_mbit_per_s_max"` // bandwidth of the host that sent most
}

// HostsTolerance is the tolerated relative error of a measured round trip and of a measured loss.
const HostsTolerance = 0.2

// lossSigmas is the tolerated difference of a measured loss from the requested one in standard
// deviations, in addition to the tolerance.
const lossSigmas = 4

// LostPercent returns the measured loss in percent of the received packets, or 0 if none was
// received.
func (h *Hosts) LostPercent() float64 {
	if h.Received == 0 {
		return 0
	}
	return 100 * float64(h.Lost) / float64(h.Received)
}

// Misses returns a sentence for each property of the network that differs from the scenario's
// request.
func (h *Hosts) Misses() (reasons []string) {
	if off := math.Abs(h.TripMsP50 - h.RoundTripMs); h.RoundTripMs > 0 && off > HostsTolerance*h.RoundTripMs {
		reasons = append(reasons, fmt.Sprintf("the median round trip between hosts is %.3g ms, expected %.3g ms with a tolerance of %.0f %%",
			h.TripMsP50, h.RoundTripMs, 100*HostsTolerance))
	}
	if h.LossPercent > 0 {
		p := h.LossPercent / 100
		chance := lossSigmas * math.Sqrt(p/max(1, float64(h.Received))) * 100
		if off := math.Abs(h.LostPercent() - h.LossPercent); h.Received == 0 || off > HostsTolerance*h.LossPercent+chance {
			reasons = append(reasons, fmt.Sprintf("%d of %d packets between hosts were lost, %.3g %%, expected %.3g %%",
				h.Lost, h.Received, h.LostPercent(), h.LossPercent))
		}
	}
	if h.Overflowed > 0 {
		reasons = append(reasons, fmt.Sprintf("the forwarder dropped %d packets between hosts: it could not keep up", h.Overflowed))
	}
	return reasons
}

// Late reports in a sentence that the forwarder delayed packets much longer than requested, or
// returns "". Packets of a burst wait for each other as on a real link, so this does not invalidate
// a round.
func (h *Hosts) Late() string {
	if late := 2 * h.LateUsP50 / 1e3; h.RoundTripMs > 0 && late > HostsTolerance*h.RoundTripMs {
		return fmt.Sprintf("packets between hosts waited for each other at the forwarder: %.3g ms on a round trip (median), in addition to the requested %.3g ms",
			late, h.RoundTripMs)
	}
	return ""
}

// NotMeasured is a point of a run, or a whole run, that was skipped because the machine does not
// meet its requirements.
type NotMeasured struct {
	Point int    `json:"point,omitempty"` // its number in a run with a sweep
	Name  string `json:"name,omitempty"`  // of the point
	Why   string `json:"why"`
}

// String returns the missing point or run with the reason.
func (n NotMeasured) String() string {
	if n.Name == "" {
		return "not measured: " + n.Why
	}
	return n.Name + " is not measured: " + n.Why
}
