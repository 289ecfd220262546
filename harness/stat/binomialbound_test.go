package stat_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/stat"
)

func TestBoundsOfAShare(t *testing.T) {
	assert.InDelta(t, math.Pow(0.05, 1.0/20), stat.ShareAtLeast(20, 20, 0.05), 1e-9, "all of 20: the rule of three")
	assert.InDelta(t, 1-math.Pow(0.05, 1.0/200), stat.ShareAtMost(0, 200, 0.05), 1e-9)
	assert.InDelta(t, 0.8611, stat.ShareAtLeast(93, 100, 0.025), 1e-4, "from published tables")
	assert.Zero(t, stat.ShareAtLeast(0, 20, 0.05))
	assert.Zero(t, stat.ShareAtLeast(0, 0, 0.05))
	assert.Equal(t, 1.0, stat.ShareAtMost(0, 0, 0.05))
	assert.Equal(t, 1.0, stat.ShareAtMost(20, 20, 0.05))
	low := stat.ShareAtLeast(7, 31, 0.05)
	assert.InDelta(t, 0.05, stat.AtLeast(7, 31, low), 1e-9, "at the bound the probability of the hits equals alpha")
}
