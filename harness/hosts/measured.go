package hosts

import (
	"github.com/pronybench/prony/harness/result"
)

// Measured returns the traffic between the hosts between two calls of Count. It also returns the
// round trips that Start measured.
func (n *Network) Measured(from, to Counted) *result.Hosts {
	seconds := to.at.Sub(from.at).Seconds()
	h := &result.Hosts{
		RoundTripMs: float64(n.config.Want.RoundTrip) / 1e6, LossPercent: n.config.Want.LossPercent, Mbit: float64(n.config.Want.Bandwidth) / 1e6,

		FloorMsP50: n.trips.FloorP50, TripMsP50: n.trips.P50, TripMsP99: n.trips.P99, Pings: n.trips.Pings, PingsLost: n.trips.Lost,

		Packets: to.forwarder.Forwarded, LateUsP50: to.forwarder.LateUsP50, LateUsP99: to.forwarder.LateUsP99, LateUsMax: to.forwarder.LateUsMax,
		ForwarderCores: (to.cpu - from.cpu).Seconds() / seconds, RealTime: to.forwarder.RealTime,
		Overflowed: to.forwarder.Overflowed + to.forwarder.Unwritten + to.untaken - from.untaken,

		Received: to.received - from.received, Lost: to.lost - from.lost, Shaped: to.shaped - from.shaped,
	}
	for i := range to.sentBytes {
		h.SentMbitMax = max(h.SentMbitMax, float64(to.sentBytes[i]-from.sentBytes[i])*8/1e6/seconds)
	}
	return h
}
