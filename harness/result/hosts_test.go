package result

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What lay between hosts is held against what was asked for.
func TestHostsMisses(t *testing.T) {
	sound := Hosts{RoundTripMs: 1, TripMsP50: 1.19, LossPercent: 1, Received: 1e6, Lost: 11900}
	for _, c := range []struct {
		name   string
		change func(*Hosts)
		want   string // a part of the only reason; "": it is sound
	}{
		{"all as asked for", func(*Hosts) {}, ""},
		{"a round trip too long", func(h *Hosts) { h.TripMsP50 = 1.21 }, "the round trip between hosts was measured as 1.21 ms (median), and should be 1 ms: it may be off by 20 %"},
		{"one too short", func(h *Hosts) { h.TripMsP50 = 0.79 }, "was measured as 0.79 ms (median)"},
		{"no round trip asked for", func(h *Hosts) { h.RoundTripMs, h.TripMsP50 = 0, 5 }, ""},
		{"too much lost", func(h *Hosts) { h.Lost = 13000 }, "13000 of 1000000 packets between hosts were lost, 1.3 %, and 1 % should be"},
		{"too little lost", func(h *Hosts) { h.Lost = 0 }, "0 of 1000000 packets"},
		{"few packets, of which chance lost more", func(h *Hosts) { h.Received, h.Lost = 1000, 20 }, ""},
		{"no packets", func(h *Hosts) { h.Received, h.Lost = 0, 0 }, "0 of 0 packets"},
		{"packets dropped", func(h *Hosts) { h.Overflowed = 3 }, "the forwarder dropped 3 packets between hosts"},
	} {
		h := sound
		c.change(&h)
		reasons := h.Misses()
		if c.want == "" {
			assert.Empty(t, reasons, c.name)
			continue
		}
		assert.Len(t, reasons, 1, c.name)
		assert.Contains(t, strings.Join(reasons, "\n"), c.want, c.name)
	}
}

func TestLateForwarder(t *testing.T) {
	assert.Empty(t, (&Hosts{RoundTripMs: 1, LateUsP50: 99}).Late())
	assert.Empty(t, (&Hosts{LateUsP50: 1e6}).Late(), "no round trip is asked for")
	assert.Equal(t, "packets between hosts waited for each other at the forwarder: 0.202 ms on a round trip (median), beside the 1 ms asked for",
		(&Hosts{RoundTripMs: 1, LateUsP50: 101}).Late())
}

func TestNotMeasured(t *testing.T) {
	assert.Equal(t, "not measured: loss: no nftables", NotMeasured{Why: "loss: no nftables"}.String())
	assert.Equal(t, "loss_percent=1 is not measured: loss: no nftables", NotMeasured{Point: 2, Name: "loss_percent=1", Why: "loss: no nftables"}.String())
}
