package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Hosts says that each node of a cluster is on a host of its own, and what lies between each two of
// these hosts. The load generator reaches all of them without any of it.
type Hosts struct {
	RoundTrip   time.Duration `json:"round_trip"`         // of a small packet; 0: what the machine takes by itself
	LossPercent float64       `json:"loss_percent"`       // of the packets that a host receives from the others
	Bandwidth   BitRate       `json:"bandwidth,omitzero"` // of what a host sends to the others; 0: no limit
}

const (
	roundTripMax   = time.Second
	lossPercentMin = 0.001
	lossPercentMax = 50.0
)

// MarshalJSON writes the round trip as text.
func (h Hosts) MarshalJSON() ([]byte, error) { return json.Marshal(h.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Hosts) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, h.stored()) }

func (h *Hosts) stored() any {
	type plain Hosts
	return &struct {
		*plain
		RoundTrip *duration `json:"round_trip"`
	}{(*plain)(h), (*duration)(&h.RoundTrip)}
}

var hostsBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"round_trip", "loss_percent", "bandwidth"}},
	Example: `hosts { round_trip = "2ms" }`, Once: true,
}

// readHosts reads hosts { round_trip loss_percent bandwidth }, or returns nil if the topology t has
// no such block.
func readHosts(b *hclfile.Block, t *Topology) *Hosts {
	blocks := b.Blocks("hosts", hostsBlock)
	if len(blocks) == 0 {
		return nil
	}
	h := blocks[0]
	switch {
	case t.Kind == "": // which kind it should be is not known
	case t.Kind != Raft:
		h.Problem(`hosts has a meaning only in topology "raft", whose nodes are on them`, `write topology "raft", or remove hosts`)
	case t.Nodes == 1:
		h.Problem("hosts says what lies between several hosts, and there is one node", "raise nodes, or remove hosts")
	}
	hosts := &Hosts{RoundTrip: h.Duration("round_trip", hclfile.DurationSpec{Max: roundTripMax})}
	switch loss, ok := h.Number("loss_percent", hclfile.NumberSpec{AllowZero: true}); {
	case ok && (loss > lossPercentMax || loss > 0 && loss < lossPercentMin):
		h.AttrProblem("loss_percent", fmt.Sprintf("loss_percent is %v; it must be 0, or from %v to %v", loss, lossPercentMin, lossPercentMax), "")
	case ok:
		hosts.LossPercent = loss
	}
	hosts.Bandwidth = readBitRate(h, "bandwidth")
	return hosts
}

// checkHosts refuses what cannot be beside hosts. Faults of links act by proxies in the load
// generator, and packets between the nodes would take their way over it.
func checkHosts(b *hclfile.Block, s *Scenario) {
	if s.Topology.Hosts == nil {
		return
	}
	if s.Attack != nil {
		b.Problem(fmt.Sprintf("%s has an attack, which is only of servers at loopback addresses, and hosts", b), "remove one of the two")
	}
	if slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		b.Problem(fmt.Sprintf("%s has a k6 script, which sends no access token to another host in plain text, and hosts", b), "take another driver, or remove hosts")
	}
	for _, f := range s.Faults {
		if f.OfLinks() {
			b.Problem(fmt.Sprintf("%s has a fault of kind %q, which is not possible between hosts", b, f.Kind),
				fmt.Sprintf("take %q, %q, %q, %q or %q, or remove hosts", FaultKill, FaultRestart, FaultWipe, FaultPause, FaultMembership))
			return
		}
	}
}

// String writes the hosts in words: "each node on a host of its own, round trip 2ms, loss 0.1 %,
// bandwidth 100Mbit".
func (h Hosts) String() string {
	text := "each node on a host of its own"
	if h.RoundTrip > 0 {
		text += ", round trip " + hclfile.FormatDuration(h.RoundTrip)
	}
	if h.LossPercent > 0 {
		text += fmt.Sprintf(", loss %v %%", h.LossPercent)
	}
	if h.Bandwidth > 0 {
		text += ", bandwidth " + h.Bandwidth.String()
	}
	return text
}
