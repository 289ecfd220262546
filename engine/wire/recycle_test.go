package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

// TestARecycledListKeepsItsMessages uses the list for fewer messages in between.
func TestARecycledListKeepsItsMessages(t *testing.T) {
	var list []*queuepb.Settlement
	known := map[*queuepb.Settlement]bool{}
	most := 0
	for _, n := range []int{3, 10, 1, 10, 7, 12, 12} {
		list = emptied[queuepb.Settlement](list, n)
		require.Len(t, list, n)
		for _, m := range list {
			require.NotNil(t, m)
			equal(t, &queuepb.Settlement{}, m)
			known[m] = true
			m.Id, m.Token = "id", 7
		}
		most = max(most, n)
		assert.Len(t, known, most)
	}
}
