package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Hosts places each node of a cluster on a separate host, and defines the network between each two
// of these hosts. It does not affect the network between the load generator and the hosts.
type Hosts struct {
	RoundTrip   time.Duration `json:"round_trip"`         // of a small packet; 0: no added delay
	LossPercent float64       `json:"loss_percent"`       // of the packets from the other hosts
	Bandwidth   BitRate       `json:"bandwidth,omitzero"` // to the other hosts; 0: no limit
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

// readHosts reads hosts { round_trip loss_percent bandwidth }, or returns nil without such a block.
func readHosts(b *hclfile.Block, t *Topology) *Hosts {
	blocks := b.Blocks("hosts", hostsBlock)
	if len(blocks) == 0 {
		return nil
	}
	h := blocks[0]
	switch {
	case t.Kind == "": // the kind is unknown
	case t.Kind != Raft:
		h.Problem(`hosts is valid only in topology "raft", which has one node on each host`, `write topology "raft", or remove hosts`)
	case t.Nodes == 1:
		h.Problem("hosts needs several nodes; the topology has one", "raise nodes, or remove hosts")
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

// checkHosts refuses features that cannot be combined with hosts. Faults of links use proxies in
// the load generator, so packets between the nodes would bypass the network between the hosts.
func checkHosts(b *hclfile.Block, s *Scenario) {
	if s.Topology.Hosts == nil {
		return
	}
	if s.Attack != nil {
		b.Problem(fmt.Sprintf("%s has hosts and an attack, which supports only servers at loopback addresses", b), "remove one of the two")
	}
	if slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		b.Problem(fmt.Sprintf("%s has hosts and a k6 script, which sends no access token to another host in plain text", b), "use another driver, or remove hosts")
	}
	for _, f := range s.Faults {
		if f.OfLinks() {
			b.Problem(fmt.Sprintf("%s has a fault of kind %q, which is not possible between hosts", b, f.Kind),
				fmt.Sprintf("use %q, %q, %q, %q or %q, or remove hosts", FaultKill, FaultRestart, FaultWipe, FaultPause, FaultMembership))
			return
		}
	}
}

// String formats the hosts as text: "each node on a separate host, round trip 2ms, loss 0.1 %,
// bandwidth 100Mbit".
func (h Hosts) String() string {
	text := "each node on a separate host"
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
