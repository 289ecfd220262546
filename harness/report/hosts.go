package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// hostsSection shows the configured and the measured network between the nodes' hosts in each
// round.
func hostsSection(p *doc.Document, r *result.Result) {
	var trips, passed [][]string
	loss, bandwidth := false, false
	for _, round := range r.Rounds {
		if h := round.Hosts; h != nil {
			loss, bandwidth = loss || h.LossPercent > 0, bandwidth || h.Mbit > 0
		}
	}
	for _, round := range r.Rounds {
		h := round.Hosts
		if h == nil {
			continue
		}
		trips = append(trips, []string{
			runs.RoundName(r, round), render.Number(h.RoundTripMs), render.Number(h.TripMsP50), render.Number(h.TripMsP99), render.Number(h.FloorMsP50),
			fmt.Sprint(h.Pings), fmt.Sprint(h.PingsLost),
		})
		realTime := "yes"
		if !h.RealTime {
			realTime = "no"
		}
		row := []string{
			runs.RoundName(r, round), render.Number(float64(h.Packets) / round.WindowSeconds), render.Number(h.ForwarderCores), realTime,
			render.Number(h.LateUsP50), render.Number(h.LateUsP99), render.Number(h.LateUsMax), render.Count(h.Overflowed),
		}
		if loss {
			row = append(row, render.Number(h.LossPercent), render.Number(h.LostPercent()), render.Count(h.Lost))
		}
		if bandwidth {
			limit := doc.None
			if h.Mbit > 0 {
				limit = render.Number(h.Mbit)
			}
			row = append(row, limit, render.Count(h.Shaped))
		}
		passed = append(passed, append(row, render.Number(h.SentMbitMax)))
	}
	if len(trips) == 0 {
		return
	}
	p.Heading(2, "Between the hosts, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("Each node is on its own host: a network namespace with its own address on the same machine. The load generator is on"+
		" another one, and reaches each node without added delay, loss or limit. Round trips are those of 84-byte packets between each two"+
		" hosts, measured before the servers start, without loss and bandwidth limits: first without added delay, which is"+
		" the floor, then with the forwarder's delay. A round is invalid if the median differs by more than %.0f %% from the"+
		" configured round trip.", 100*result.HostsTolerance)
	p.Table([]string{">round", ">round trip, ms", ">measured p50, ms", ">p99, ms", ">floor p50, ms", ">answers", ">unanswered"}, trips)
	p.Paragraph("In the windows, all packets between hosts pass the forwarder, a process that holds each packet for half a round trip. Late is" +
		" the additional one-way delay: it delivers packets one after the other, so packets of a burst wait for each other, as on" +
		" a link. CPUs is the forwarder's use of the machine, which the servers and the generator could not use. With real-time priority it does not wait" +
		" for them. Dropped are packets that did not fit its buffers, which make the round invalid. Sent is the rate of the host that sent most.")
	header := []string{">round", ">packets/s", ">forwarder, CPUs", "real-time", ">late p50, µs", ">p99, µs", ">at most, µs", ">dropped"}
	if loss {
		header = append(header, ">loss, %", ">measured, %", ">packets lost")
	}
	if bandwidth {
		header = append(header, ">bandwidth, Mbit/s", ">packets without room")
	}
	p.Table(append(header, ">sent, Mbit/s"), passed)
}

func notMeasured(p *doc.Document, r *result.Result) {
	if len(r.NotMeasured) == 0 {
		return
	}
	var all []string
	for _, left := range r.NotMeasured {
		all = append(all, left.String())
	}
	p.Listed("Not measured on this machine:", all)
}
