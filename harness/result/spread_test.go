package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// An interval that is the range must differ from one that excludes the extremes, and its level
// depends on the number of rounds.
func TestSpread(t *testing.T) {
	for n, want := range map[int]string{
		0:  "no rounds",
		1:  "one round, no interval",
		2:  "range of 2 rounds, 50 % interval of the median",
		4:  "range of 4 rounds, 87.5 % interval of the median",
		6:  "range of 6 rounds, 96.8 % interval of the median",
		7:  "range of 7 rounds, 98.4 % interval of the median",
		8:  "1st to 7th of 8 rounds, 96 % interval of the median",
		10: "2nd to 9th of 10 rounds, 97.8 % interval of the median",
		50: "18th to 32nd of 50 rounds, 95.1 % interval of the median",
	} {
		assert.Equal(t, want, result.Spread(n, "round"))
	}
}
