package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/clock"
)

// clockRefusal is the reason why a node must not lead because of its clock.
type clockRefusal struct {
	ahead   time.Duration // the clock's time minus the median; negative if the clock is behind
	skewMax time.Duration
	voters  []string // the other voters whose answers were used
}

// Error implements error.
func (r *clockRefusal) Error() string {
	apart := fmt.Sprintf("%v ahead of", r.ahead.Round(time.Millisecond))
	if r.ahead < 0 {
		apart = fmt.Sprintf("%v behind", (-r.ahead).Round(time.Millisecond))
	}
	of := fmt.Sprintf("the median of %d voters", len(r.voters)+1)
	if len(r.voters) == 1 {
		of = "that of " + r.voters[0] + ", the only other voter that answers"
	}
	return fmt.Sprintf("its clock is %s %s, and may differ by %v (--cluster-clock-skew-max): it leads no shard; set the hosts' clocks, and restart the node so that it uses the new time immediately",
		apart, of, r.skewMax)
}

// clockView is what a node knows of the voters' clocks at one moment.
type clockView struct {
	self    string
	skewMax time.Duration
	voters  []string
	known   map[string]skew // by node: the skews of the other voters that are precise enough
}

func newClockView(self string, skewMax time.Duration, voters []string, skews map[string]skew) clockView {
	known := maps.Clone(skews)
	maps.DeleteFunc(known, func(id string, s skew) bool {
		return s.wrong > clock.ErrorMax(skewMax) || !slices.Contains(voters, id)
	})
	return clockView{self: self, skewMax: skewMax, voters: voters, known: known}
}

// enough reports whether the voters with known skews and this node form a majority.
func (v clockView) enough() bool { return 2*(len(v.known)+1) > len(v.voters) }

// refusal returns the reason why this node must not lead, or nil. known is false if a majority of
// the voters has not answered. The previous decision then remains valid: without a majority no node
// leads for long, and missing answers must not allow a refused node to lead.
func (v clockView) refusal() (why *clockRefusal, known bool) {
	if v.skewMax == 0 || !slices.Contains(v.voters, v.self) {
		return nil, true
	}
	if !v.enough() {
		return nil, false
	}
	var offsets []time.Duration
	for _, s := range v.known {
		offsets = append(offsets, s.ahead)
	}
	ahead := clock.Deviation(offsets)
	if ahead.Abs() <= v.skewMax {
		return nil, true
	}
	return &clockRefusal{ahead: ahead, skewMax: v.skewMax, voters: slices.Sorted(maps.Keys(v.known))}, true
}

// successor returns the one of the given voters that should lead next, or "" if any of them may. ok
// is false if none may lead. refused is true if this node must not lead.
func (v clockView) successor(voters []string, refused bool) (node string, ok bool) {
	if !v.enough() {
		return "", !refused
	}
	wrong := false
	for _, id := range slices.Sorted(maps.Keys(v.known)) {
		switch {
		case !v.fit(id):
			wrong = true
		case node == "" && slices.Contains(voters, id):
			node = id
		}
	}
	if !wrong && !refused {
		return "", true
	}
	return node, node != ""
}

// fit reports whether another voter's clock allows the voter to lead. If this is unknown, fit
// returns true.
func (v clockView) fit(id string) bool {
	_, answers := v.known[id]
	return !v.enough() || !answers || v.deviation(id).Abs() <= v.skewMax
}

// deviation returns the time of another voter's clock minus the median of the clocks, according to
// this node's estimates.
func (v clockView) deviation(id string) time.Duration {
	its := v.known[id].ahead
	offsets := []time.Duration{-its}
	for other, s := range v.known {
		if other != id {
			offsets = append(offsets, s.ahead-its)
		}
	}
	return clock.Deviation(offsets)
}

// majorityAnswered reports whether this node and the voters that it asked at since or later, and
// that have answered, form a majority.
func majorityAnswered(skews map[string]skew, voters []string, since int64) bool {
	n := 1
	for id, s := range skews {
		if s.asked >= since && slices.Contains(voters, id) {
			n++
		}
	}
	return 2*n > len(voters)
}
