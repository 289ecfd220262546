package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/clock"
)

const maxSkew = 100 * time.Millisecond

// clocksOf returns what node n0 knows of n voters n0, n1 and so on. The skews are in milliseconds.
func clocksOf(n int, ahead map[string]int) clockView {
	skews := map[string]skew{}
	for id, ms := range ahead {
		skews[id] = skew{ahead: time.Duration(ms) * time.Millisecond}
	}
	var voters []string
	for i := range n {
		voters = append(voters, fmt.Sprint("n", i))
	}
	return newClockView("n0", maxSkew, voters, skews)
}

func TestANodeWithAWrongClockMustNotLead(t *testing.T) {
	nonvoter := clocksOf(3, map[string]int{"n1": 5000, "n2": 5000})
	nonvoter.self = "n9"
	off := clocksOf(3, map[string]int{"n1": 5000, "n2": 5000})
	off.skewMax = 0
	for name, c := range map[string]struct {
		view  clockView
		why   string
		known bool
	}{
		"agree":                   {clocksOf(3, map[string]int{"n1": 3, "n2": -3}), "", true},
		"at the bound":            {clocksOf(3, map[string]int{"n1": 100, "n2": 100}), "", true},
		"behind both":             {clocksOf(3, map[string]int{"n1": 101, "n2": 102}), "its clock is 101ms behind the median of 3 voters", true},
		"ahead of both":           {clocksOf(3, map[string]int{"n1": -500, "n2": -400}), "its clock is 400ms ahead of the median of 3 voters", true},
		"one is far":              {clocksOf(3, map[string]int{"n1": 5000, "n2": 1}), "", true},
		"the only other":          {clocksOf(2, map[string]int{"n1": 500}), "its clock is 500ms behind that of n1, the only other voter that answers", true},
		"a majority answers":      {clocksOf(3, map[string]int{"n2": 500}), "that of n2, the only other voter that answers", true},
		"no majority answers":     {clocksOf(3, nil), "", false},
		"half of four answer":     {clocksOf(4, map[string]int{"n1": 500}), "", false},
		"alone":                   {clocksOf(1, nil), "", true},
		"a nonvoter":              {nonvoter, "", true},
		"clocks are not compared": {off, "", true},
		"no vote, no weight":      {clocksOf(3, map[string]int{"n1": 1, "n2": 1, "n7": 900, "n8": 900, "n9": 900}), "", true},
	} {
		why, known := c.view.refusal()
		assert.Equal(t, c.known, known, name)
		if c.why == "" {
			assert.Nil(t, why, name)
			continue
		}
		require.NotNil(t, why, name)
		assert.ErrorContains(t, why, c.why, name)
		assert.ErrorContains(t, why, "may differ by 100ms (--cluster-clock-skew-max)", name)
	}
}

func TestImpreciseEstimatesDoNotCount(t *testing.T) {
	of := func(wrong time.Duration) clockView {
		return newClockView("n0", maxSkew, []string{"n0", "n1"}, map[string]skew{"n1": {ahead: time.Second, wrong: wrong}})
	}
	bound := clock.ErrorMax(maxSkew)
	assert.True(t, of(bound).enough())
	assert.False(t, of(bound+1).enough())
	assert.False(t, of(bound).fit("n1"))
	assert.True(t, of(bound+1).fit("n1"), "nothing is known of its clock")
	assert.True(t, clocksOf(4, map[string]int{"n1": 5000}).fit("n1"), "n1 may be right, and n0 wrong")
}

func TestTheSuccessorsClockIsRight(t *testing.T) {
	for name, c := range map[string]struct {
		view    clockView
		voters  []string
		refused bool
		node    string
		ok      bool
	}{
		"any":                             {clocksOf(3, map[string]int{"n1": 1, "n2": 2}), []string{"n1", "n2"}, false, "", true},
		"this node is wrong":              {clocksOf(3, map[string]int{"n1": 500, "n2": 501}), []string{"n1", "n2"}, true, "n1", true},
		"another is wrong":                {clocksOf(3, map[string]int{"n1": 500, "n2": 1}), []string{"n1", "n2"}, false, "n2", true},
		"all given ones are wrong":        {clocksOf(3, map[string]int{"n1": 500, "n2": 1}), []string{"n1"}, false, "", false},
		"the right ones are not in reach": {clocksOf(5, map[string]int{"n1": 1, "n2": 2, "n3": 900}), []string{"n3"}, false, "", false},
		"unknown":                         {clocksOf(3, nil), []string{"n1", "n2"}, false, "", true},
		"unknown, and refused before":     {clocksOf(3, nil), []string{"n1", "n2"}, true, "", false},
	} {
		node, ok := c.view.successor(c.voters, c.refused)
		assert.Equal(t, c.node, node, name)
		assert.Equal(t, c.ok, ok, name)
	}
}

// If estimates are exact, all nodes judge each other's clocks alike: a node is fit for the others
// if and only if it lets itself lead.
func TestNodesAgreeAboutWhoMayLead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "voters")
		var voters []string
		at := map[string]time.Duration{}
		for i := range n {
			id := fmt.Sprint("n", i)
			voters = append(voters, id)
			at[id] = time.Duration(rapid.IntRange(-300, 300).Draw(t, "ms")) * time.Millisecond
		}
		views := map[string]clockView{}
		for _, self := range voters {
			skews := map[string]skew{}
			for _, id := range voters {
				if id != self {
					skews[id] = skew{ahead: at[id] - at[self]}
				}
			}
			views[self] = newClockView(self, maxSkew, voters, skews)
		}
		leaders := 0
		for _, self := range voters {
			why, known := views[self].refusal()
			require.True(t, known)
			if why == nil {
				leaders++
			}
			for _, other := range voters {
				if other != self {
					assert.Equal(t, why == nil, views[other].fit(self), "%s judges %s", other, self)
				}
			}
		}
		if n%2 == 1 {
			assert.Positive(t, leaders, "the median itself may lead")
		}
	})
}

// Only answers to questions that were asked since a given time count for a new tenure.
func TestATenureNeedsNewAnswersFromAMajority(t *testing.T) {
	voters := []string{"n0", "n1", "n2"}
	for name, c := range map[string]struct {
		skews  map[string]skew
		voters []string
		want   bool
	}{
		"a new answer":            {map[string]skew{"n1": {asked: 10}}, voters, true},
		"an old answer":           {map[string]skew{"n1": {asked: 9}, "n2": {asked: 1}}, voters, false},
		"an answer of a nonvoter": {map[string]skew{"n7": {asked: 11}}, voters, false},
		"alone":                   {nil, voters[:1], true},
		"one of two":              {nil, voters[:2], false},
	} {
		assert.Equal(t, c.want, majorityAnswered(c.skews, c.voters, 10), name)
	}
}
