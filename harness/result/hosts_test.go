package result

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
)

// The measurements between hosts are compared with the requested values.
func TestHostsMisses(t *testing.T) {
	sound := Hosts{RoundTripMs: 1, TripMsP50: 1.19, LossPercent: 1, Received: 1e6, Lost: 11900}
	s := golden.Cases(t, "testdata/hosts.golden")
	for _, c := range []struct {
		name   string
		change func(*Hosts)
	}{
		{"all as requested", func(*Hosts) {}},
		{"a round trip too long", func(h *Hosts) { h.TripMsP50 = 1.21 }},
		{"one too short", func(h *Hosts) { h.TripMsP50 = 0.79 }},
		{"no round trip requested", func(h *Hosts) { h.RoundTripMs, h.TripMsP50 = 0, 5 }},
		{"too much lost", func(h *Hosts) { h.Lost = 13000 }},
		{"too little lost", func(h *Hosts) { h.Lost = 0 }},
		{"a few packets with a loss within chance", func(h *Hosts) { h.Received, h.Lost = 1000, 20 }},
		{"no packets", func(h *Hosts) { h.Received, h.Lost = 0, 0 }},
		{"packets dropped", func(h *Hosts) { h.Overflowed = 3 }},
	} {
		h := sound
		c.change(&h)
		s.Equal(t, c.name, strings.Join(h.Misses(), "\n"))
	}
}

func TestLateForwarder(t *testing.T) {
	assert.Empty(t, (&Hosts{RoundTripMs: 1, LateUsP50: 99}).Late())
	assert.Empty(t, (&Hosts{LateUsP50: 1e6}).Late(), "no round trip is requested")
	golden.Text(t, "testdata/late.golden", (&Hosts{RoundTripMs: 1, LateUsP50: 101}).Late()+"\n")
}

func TestNotMeasured(t *testing.T) {
	s := golden.Cases(t, "testdata/notmeasured.golden")
	s.Equal(t, "the scenario", NotMeasured{Why: "loss: no nftables"}.String())
	s.Equal(t, "a point", NotMeasured{Point: 2, Name: "loss_percent=1", Why: "loss: no nftables"}.String())
}
