package cluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

// voter returns a voter that answers and has reported its disk.
func voter(node string, s disk.SpaceState) route.Member {
	return route.Member{Node: node, Voter: true, Reachable: true, Disk: DiskState(s)}
}

func silent(m route.Member) route.Member {
	m.Reachable = false
	return m
}

// disksOf returns what node n1 knows if its own disk has the state own. All clocks agree.
func disksOf(own disk.SpaceState, others ...route.Member) diskView {
	n1 := silent(voter("n1", disk.SpaceOK)) // this node's own state takes precedence
	return diskView{self: "n1", own: own, voters: append([]route.Member{n1}, others...), fit: func(string) bool { return true }}
}

func TestWritesNeedAMajorityOfDisksWithSpace(t *testing.T) {
	older := voter("n2", disk.SpaceOK)
	older.Disk = adminpb.DiskState_DISK_STATE_UNSPECIFIED
	const lacking = "too few nodes have enough disk space: "
	for name, c := range map[string]struct {
		view  diskView
		state disk.SpaceState
		why   string
	}{
		"all have space":              {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK), voter("n3", disk.SpaceOK)), disk.SpaceOK, ""},
		"one of three is full":        {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK), voter("n3", disk.SpaceExhausted)), disk.SpaceOK, ""},
		"two of three are low":        {disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), voter("n3", disk.SpaceLow)), disk.SpaceLow, lacking + "n2 low, n3 low"},
		"the best majority counts":    {disksOf(disk.SpaceOK, voter("n2", disk.SpaceCritical), voter("n3", disk.SpaceLow)), disk.SpaceLow, lacking + "n3 low, n2 critical"},
		"two of four are low":         {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK), voter("n3", disk.SpaceLow), voter("n4", disk.SpaceLow)), disk.SpaceLow, lacking + "n3 low, n4 low"},
		"exhausted ones are critical": {disksOf(disk.SpaceExhausted, voter("n2", disk.SpaceExhausted), voter("n3", disk.SpaceOK)), disk.SpaceCritical, lacking + "n1 exhausted, n2 exhausted"},
		"this node counts":            {disksOf(disk.SpaceLow, voter("n2", disk.SpaceLow), voter("n3", disk.SpaceOK)), disk.SpaceLow, lacking + "n1 low, n2 low"},
		"a silent node is ignored":    {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK), silent(voter("n3", disk.SpaceExhausted))), disk.SpaceOK, ""},
		"a silent node has no space":  {disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), silent(voter("n3", disk.SpaceOK))), disk.SpaceLow, lacking + "n2 low"},
		"without a majority":          {disksOf(disk.SpaceLow, silent(voter("n2", disk.SpaceLow)), silent(voter("n3", disk.SpaceLow))), disk.SpaceOK, ""},
		"a node of an older version":  {disksOf(disk.SpaceOK, older, voter("n3", disk.SpaceCritical)), disk.SpaceOK, ""},
		"alone":                       {disksOf(disk.SpaceLow), disk.SpaceLow, lacking + "n1 low"},
		"before the members are read": {diskView{self: "n1", own: disk.SpaceExhausted}, disk.SpaceOK, ""},
	} {
		state, why := c.view.majority()
		assert.Equal(t, c.state, state, name)
		assert.Equal(t, c.why, why, name)
	}
}

// For any disks, the state is one that a majority of the voters can follow, and no less.
func TestTheStateIsTheBestThatAMajorityAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := disksOf(disk.SpaceState(rapid.IntRange(0, 3).Draw(t, "own")))
		for i := range rapid.IntRange(0, 6).Draw(t, "others") {
			m := voter(string(rune('a'+i)), disk.SpaceState(rapid.IntRange(0, 3).Draw(t, "state")))
			m.Reachable = rapid.Bool().Draw(t, "answers")
			v.voters = append(v.voters, m)
		}
		able := func(s disk.SpaceState) (n int) { // voters whose disks allow what s allows
			for _, m := range v.voters {
				if (m.Reachable || m.Node == v.self) && v.spaceOf(m) <= s {
					n++
				}
			}
			return n
		}
		state, _ := v.majority()
		if need := len(v.voters)/2 + 1; able(disk.SpaceExhausted) < need {
			assert.Equal(t, disk.SpaceOK, state, "less than a majority answers")
		} else {
			assert.True(t, able(state) >= need || state == disk.SpaceCritical)
			assert.True(t, state == disk.SpaceOK || able(state-1) < need)
		}
	})
}

func TestANodeYieldsToAVoterWithMoreSpace(t *testing.T) {
	wrong := disksOf(disk.SpaceLow, voter("n2", disk.SpaceOK))
	wrong.fit = func(node string) bool { return node != "n2" }
	for name, c := range map[string]struct {
		view diskView
		want bool
	}{
		"more space":            {disksOf(disk.SpaceLow, voter("n2", disk.SpaceOK)), true},
		"less critical":         {disksOf(disk.SpaceExhausted, voter("n2", disk.SpaceCritical)), true},
		"equal space":           {disksOf(disk.SpaceLow, voter("n2", disk.SpaceLow)), false},
		"less space":            {disksOf(disk.SpaceLow, voter("n2", disk.SpaceCritical)), false},
		"enough space":          {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK)), false},
		"the other is silent":   {disksOf(disk.SpaceLow, silent(voter("n2", disk.SpaceOK))), false},
		"its clock is wrong":    {wrong, false},
		"this node is no other": {disksOf(disk.SpaceLow), false},
	} {
		assert.Equal(t, c.want, c.view.yields(), name)
	}
}

// A node that stops names its successor only if another voter lacks space.
func TestTheSuccessorHasSpace(t *testing.T) {
	wrong := disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), voter("n3", disk.SpaceOK), voter("n4", disk.SpaceOK))
	wrong.fit = func(node string) bool { return node != "n3" }
	for name, c := range map[string]struct {
		view diskView
		want string
	}{
		"any":                    {disksOf(disk.SpaceOK, voter("n2", disk.SpaceOK), voter("n3", disk.SpaceOK)), ""},
		"the one with space":     {disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), voter("n3", disk.SpaceOK)), "n3"},
		"only this disk is full": {disksOf(disk.SpaceExhausted, voter("n2", disk.SpaceOK), voter("n3", disk.SpaceOK)), ""},
		"none has space":         {disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), voter("n3", disk.SpaceCritical)), ""},
		"silent":                 {disksOf(disk.SpaceOK, voter("n2", disk.SpaceLow), silent(voter("n3", disk.SpaceOK))), ""},
		"its clock is wrong":     {wrong, "n4"},
	} {
		assert.Equal(t, c.want, c.view.successor(), name)
	}
}

// A node with a full disk hands over to the best disk, and among equals to the node that leads the
// fewest groups, in any order of the voters.
func TestLeadershipMovesToTheBestDisk(t *testing.T) {
	for name, c := range map[string]struct {
		own    disk.SpaceState
		others []route.Member
		led    map[string]int
		want   string
	}{
		"the best":                {disk.SpaceCritical, []route.Member{voter("n2", disk.SpaceLow), voter("n3", disk.SpaceOK)}, map[string]int{"n3": 9}, "n3"},
		"the one with less to do": {disk.SpaceLow, []route.Member{voter("n2", disk.SpaceOK), voter("n3", disk.SpaceOK)}, map[string]int{"n2": 2, "n3": 1}, "n3"},
		"silent":                  {disk.SpaceLow, []route.Member{silent(voter("n2", disk.SpaceOK)), voter("n3", disk.SpaceOK)}, map[string]int{"n3": 5}, "n3"},
		"none is better":          {disk.SpaceLow, []route.Member{voter("n2", disk.SpaceLow), voter("n3", disk.SpaceCritical)}, nil, ""},
	} {
		for range 2 {
			assert.Equal(t, c.want, disksOf(c.own, c.others...).destination(c.led), name)
			slices.Reverse(c.others)
		}
	}
}
