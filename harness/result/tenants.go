package result

import "slices"

// TenantShares describes how evenly the cycles of a window were spread over tenants that each sent
// the same load.
type TenantShares struct {
	Tenants int `json:"tenants"`
	// Fairness is Jain's index of the cycles of each tenant: 1 if all completed equally many,
	// 1/Tenants if one completed all. See Jain, Chiu and Hawe, "A quantitative measure of fairness
	// and discrimination for resource allocation in shared computer systems", DEC TR-301, 1984.
	Fairness float64 `json:"fairness"`
	// MinRatio is the smallest number of cycles of a tenant, divided by the mean over all tenants.
	MinRatio float64 `json:"min_ratio"`
}

// TenantSharesOf returns the shares of tenants with the given cycles, or nil if there are no
// cycles.
func TenantSharesOf(cycles []uint64) *TenantShares {
	var sum, squares float64
	for _, c := range cycles {
		sum += float64(c)
		squares += float64(c) * float64(c)
	}
	if sum == 0 {
		return nil
	}
	n := float64(len(cycles))
	return &TenantShares{Tenants: len(cycles), Fairness: sum * sum / (n * squares), MinRatio: float64(slices.Min(cycles)) * n / sum}
}

func (s TenantShares) metrics() map[string]float64 {
	return map[string]float64{TenantFairness: s.Fairness, TenantCyclesMinRatio: s.MinRatio}
}
