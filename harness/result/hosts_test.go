package result

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The measurements between hosts are compared with the requested values.
func TestHostsMisses(t *testing.T) {
	sound := Hosts{RoundTripMs: 1, TripMsP50: 1.19, LossPercent: 1, Received: 1e6, Lost: 11900}
	for _, c := range []struct {
		name   string
		change func(*Hosts)
		want   string // part of the only reason; "" if there is none
	}{
		{"all as requested", func(*Hosts) {}, ""},
		{"a round trip too long", func(h *Hosts) { h.TripMsP50 = 1.21 }, "the median round trip between hosts is 1.21 ms, expected 1 ms with a tolerance of 20 %"},
		{"one too short", func(h *Hosts) { h.TripMsP50 = 0.79 }, "is 0.79 ms, expected"},
		{"no round trip requested", func(h *Hosts) { h.RoundTripMs, h.TripMsP50 = 0, 5 }, ""},
		{"too much lost", func(h *Hosts) { h.Lost = 13000 }, "13000 of 1000000 packets between hosts were lost, 1.3 %, expected 1 %"},
		{"too little lost", func(h *Hosts) { h.Lost = 0 }, "0 of 1000000 packets"},
		{"a few packets with a loss within chance", func(h *Hosts) { h.Received, h.Lost = 1000, 20 }, ""},
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
	assert.Empty(t, (&Hosts{LateUsP50: 1e6}).Late(), "no round trip is requested")
	assert.Equal(t, "packets between hosts waited for each other at the forwarder: 0.202 ms on a round trip (median), in addition to the requested 1 ms",
		(&Hosts{RoundTripMs: 1, LateUsP50: 101}).Late())
}

func TestNotMeasured(t *testing.T) {
	assert.Equal(t, "not measured: loss: no nftables", NotMeasured{Why: "loss: no nftables"}.String())
	assert.Equal(t, "loss_percent=1 is not measured: loss: no nftables", NotMeasured{Point: 2, Name: "loss_percent=1", Why: "loss: no nftables"}.String())
}
