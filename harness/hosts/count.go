package hosts

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// Counted is the traffic between the hosts up to a certain time.
type Counted struct {
	at       time.Time
	cpu      time.Duration // CPU time of the forwarder
	received uint64        // number of packets, including lost ones; 0 if the network has no loss
	lost     uint64
	// packets that a device dropped because the forwarder was too slow to read them
	untaken   uint64
	shaped    uint64 // packets that a token bucket dropped
	sentBytes []uint64
	forwarder report
}

// Count reads all counters. If begin is true, it then resets the counters of the forwarder.
func (n *Network) Count(begin bool) (c Counted, err error) {
	if c.cpu, err = observe.ProcessCPU(n.ForwarderPID()); err != nil {
		return c, fmt.Errorf("count the traffic between hosts: %w", err)
	}
	c.at = time.Now()
	err = n.each(func(int) error {
		bytes, untaken, err := sent()
		c.sentBytes, c.untaken = append(c.sentBytes, bytes), c.untaken+untaken
		if err == nil && n.config.Want.LossPercent > 0 {
			var all, lost uint64
			all, lost, err = received()
			c.received, c.lost = c.received+all, c.lost+lost
		}
		if err == nil && n.config.Want.Bandwidth > 0 {
			var dropped uint64
			dropped, err = shaped()
			c.shaped += dropped
		}
		return err
	})
	if err == nil {
		c.forwarder, err = n.forwarder.ask(request{DelayNs: int64(n.delay), Begin: begin})
	}
	if err != nil {
		return c, fmt.Errorf("count the traffic between hosts: %w", err)
	}
	return c, nil
}

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
