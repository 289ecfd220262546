package longtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/longtest"
)

func TestTheFormIsChosenByTheVariable(t *testing.T) {
	for share, want := range map[string]struct {
		asked bool
		count int
	}{"": {false, 4}, "1": {true, 150}, "0.1": {true, 15}, "0.001": {true, 4}, "2": {true, 300}} {
		t.Run(share, func(t *testing.T) {
			t.Setenv(longtest.Variable, share)
			assert.Equal(t, want.asked, longtest.Asked(t))
			assert.Equal(t, want.count, longtest.Count(t, 4, 150))
			skipped := true
			t.Run("only", func(t *testing.T) {
				longtest.Only(t)
				skipped = false
			})
			assert.Equal(t, want.asked, !skipped)
		})
	}
}
