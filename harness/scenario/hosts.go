package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

var hostsTable = table[Hosts]{
	durationAttr(func(h *Hosts) *time.Duration { return &h.RoundTrip }, hclfile.DurationSpec{Max: roundTripMax}, attribute[Hosts]{
		name: "round_trip", label: "round trip between hosts", shownDefault: "`\"0s\"`: no added delay",
		doc: "{}: the round trip of a small packet between two hosts, half of it each way. It includes the measured round trip without added delay",
	}),
	{
		name: "loss_percent", label: "loss between hosts, %", shownDefault: "0",
		doc:   fmt.Sprintf("0, or %v to %v: the share of the packets from other hosts that a host loses, at random and independently", lossPercentMin, lossPercentMax),
		read:  func(b *hclfile.Block, h *Hosts) { h.LossPercent = readLoss(b) },
		value: func(h *Hosts) string { return strconv.FormatFloat(h.LossPercent, 'f', -1, 64) },
	},
	{
		name: "bandwidth", label: "bandwidth of each host", shownDefault: "no limit",
		doc:  fmt.Sprintf("%s to %s, in `kbit`, `Mbit` or `Gbit`: the limit on the total that a host sends to the others. A packet that would wait longer than 50 ms is dropped", bitRateMin.String(), bitRateMax.String()),
		read: func(b *hclfile.Block, h *Hosts) { h.Bandwidth = readBitRate(b, "bandwidth") },
		value: func(h *Hosts) string {
			if h.Bandwidth > 0 {
				return h.Bandwidth.String()
			}
			return "no limit"
		},
	},
}

var hostsBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: hostsTable.names()},
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
	hosts := &Hosts{}
	hostsTable.read(h, hosts)
	return hosts
}

// readLoss reads loss_percent, or returns 0 after it noted a problem.
func readLoss(b *hclfile.Block) float64 {
	loss, _ := b.Number("loss_percent", hclfile.NumberSpec{AllowZero: true})
	if loss > lossPercentMax || loss > 0 && loss < lossPercentMin {
		b.AttrProblem("loss_percent", fmt.Sprintf("loss_percent is %v; it must be 0, or from %v to %v", loss, lossPercentMin, lossPercentMax), "")
		return 0
	}
	return loss
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
