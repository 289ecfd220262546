package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsSaidOfSeveralRoundsStandsOnce(t *testing.T) {
	assert.Equal(t, []string{"rounds 1, 12: a: b", "round 2: c", "a: b", "about round 3: d"}, foldRounds([]string{
		"round 1: a: b", "round 2: c", "a: b", "round 12: a: b", "about round 3: d",
	}))
	assert.Empty(t, foldRounds(nil))
}
