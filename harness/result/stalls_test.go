package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStallsAreThoseOfTheWindow(t *testing.T) {
	commits := []SlowCommit{
		{AtS: -0.020, Ms: 10}, {AtS: -0.020, Ms: 30, Cause: "flush"}, {AtS: 9.99, Ms: 5, Cause: "gc"}, {AtS: 9.99, Ms: 15},
	}
	work := []StoreWork{{Kind: "flush", AtS: -2, Ms: 1_500}, {Kind: "flush", AtS: -2, Ms: 2_500}, {Kind: "fsync", AtS: 10.1, Ms: 9}}
	causes := []StallCause{{"other", 0, 0}, {"gc", 1, 5}, {"flush", 1, 30}}
	s := StallsOf(5, 10, causes, commits, work, 7)
	assert.Equal(t, &Stalls{
		SlowMs: 5, Missing: 7, Commits: []SlowCommit{commits[1], commits[2]}, Work: []StoreWork{work[1]},
		Causes: []StallCause{{"flush", 1, 30}, {"gc", 1, 5}},
	}, s)
	assert.Equal(t, 10.0, commits[0].Ms, "the argument must not be modified")
}

// The longest commits are listed in the order of their start, and the others are counted.
func TestTheListOfSlowCommitsIsBounded(t *testing.T) {
	var commits []SlowCommit
	var work []StoreWork
	for i := range 250 {
		commits = append(commits, SlowCommit{AtS: float64(i) / 100, Ms: float64(6 + i)})
		work = append(work, StoreWork{AtS: float64(i) / 100, Ms: float64(6 + i)})
	}
	s := StallsOf(5, 10, nil, commits, work, 0)
	assert.Len(t, s.Commits, slowCommitsMax)
	assert.Equal(t, uint64(150), s.Missing)
	assert.Equal(t, []float64{156, 255}, []float64{s.Commits[0].Ms, s.Commits[slowCommitsMax-1].Ms})
	assert.Len(t, s.Work, storeWorkMax)
	assert.Equal(t, 56.0, s.Work[0].Ms)
}

func TestCausesOfRoundsAreAddedUp(t *testing.T) {
	rounds := []Round{
		{Stalls: &Stalls{Causes: []StallCause{{"flush", 2, 30}, {"gc", 1, 20}}}},
		{},
		{Stalls: &Stalls{Causes: []StallCause{{"gc", 4, 25}}}},
	}
	assert.Equal(t, []StallCause{{"gc", 5, 45}, {"flush", 2, 30}}, MergeStallCauses(rounds))
	assert.Equal(t, []StallCause{{"flush", 2, 30}, {"gc", 1, 20}}, rounds[0].Stalls.Causes, "the rounds must not be modified")
}
