package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

func TestTenantSharesOf(t *testing.T) {
	assert.Nil(t, result.TenantSharesOf(nil))
	assert.Nil(t, result.TenantSharesOf([]uint64{0, 0}), "there are no cycles to share")
	assert.Equal(t, &result.TenantShares{Tenants: 3, Fairness: 1, MinRatio: 1}, result.TenantSharesOf([]uint64{7, 7, 7}))
	assert.Equal(t, &result.TenantShares{Tenants: 4, Fairness: 0.25, MinRatio: 0}, result.TenantSharesOf([]uint64{0, 9, 0, 0}))
	assert.Equal(t, &result.TenantShares{Tenants: 2, Fairness: 0.8, MinRatio: 0.5}, result.TenantSharesOf([]uint64{30, 10}))
}

// The index lies between 1/n and 1, and neither figure depends on the total number of cycles or on
// the order of the tenants.
func TestTenantSharesDependOnProportionsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cycles := rapid.SliceOfN(rapid.Uint64Range(0, 1_000_000), 2, 50).Draw(t, "cycles")
		s := result.TenantSharesOf(append(cycles, 1))
		n := float64(s.Tenants)
		require.InDelta(t, len(cycles)+1, s.Tenants, 0)
		require.GreaterOrEqual(t, s.Fairness, 1/n-1e-9)
		require.LessOrEqual(t, s.Fairness, 1+1e-9)
		require.LessOrEqual(t, s.MinRatio, 1+1e-9)
		changed := []uint64{3}
		for _, c := range cycles {
			changed = append(changed, 3*c)
		}
		other := result.TenantSharesOf(changed)
		require.InDelta(t, s.Fairness, other.Fairness, 1e-9)
		require.InDelta(t, s.MinRatio, other.MinRatio, 1e-9)
	})
}
