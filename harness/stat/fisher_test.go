package stat_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

func TestFisherGreater(t *testing.T) {
	s := golden.Cases(t, "testdata/fisher.golden")
	for _, c := range []struct {
		marked, n, othersMarked, others int
		want                            float64
	}{
		{3, 4, 1, 4, 17.0 / 70}, // Fisher's lady tasting tea
		{4, 4, 0, 4, 1.0 / 70},
		{0, 10, 3, 20, 1},
		{0, 0, 0, 0, 1},
		{3, 5, 0, 7, 10.0 / 220},
		{5, 5, 7, 7, 1},
	} {
		got, err := stat.FisherGreater(c.marked, c.n, c.othersMarked, c.others)
		require.NoError(t, err)
		assert.InDelta(t, c.want, got, 1e-12, "%+v", c)
	}
	for _, bad := range [][4]int{{-1, 1, 0, 1}, {2, 1, 0, 1}, {0, 1, 2, 1}, {0, 1, -1, 1}} {
		_, err := stat.FisherGreater(bad[0], bad[1], bad[2], bad[3])
		s.Error(t, fmt.Sprint(bad), err)
	}
}

// More marks in the group are less likely by chance, and equivalent to fewer marks in the others.
func TestFisherGreaterIsOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, others := rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(1, 60).Draw(t, "others")
		marked, of := rapid.IntRange(0, n-1).Draw(t, "marked"), rapid.IntRange(1, others).Draw(t, "of the others")
		p := func(marked, of int) float64 {
			v, err := stat.FisherGreater(marked, n, of, others)
			require.NoError(t, err)
			require.True(t, v > 0 && v <= 1, v)
			return v
		}
		require.LessOrEqual(t, p(marked+1, of), p(marked, of)+1e-12)
		require.LessOrEqual(t, p(marked+1, of-1), p(marked, of)+1e-12)
	})
}
