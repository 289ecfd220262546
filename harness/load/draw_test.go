package load

import (
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// draws returns n sizes from a seed, sorted.
func draws(p scenario.Payload, seed, n int) []int {
	w := scenario.Workload{Seed: seed}
	s, from := newSizes(p), newDraw(w, 0)
	all := make([]int, n)
	for i := range all {
		all[i] = s.draw(from)
	}
	slices.Sort(all)
	return all
}

func TestLognormalSizes(t *testing.T) {
	const n = 100_000
	all := draws(scenario.Payload{Kind: "lognormal", Min: 32, Max: 1 << 20, Median: 256, P99: 4096}, 1, n)
	assert.InEpsilon(t, 256, all[n/2], 0.02)
	assert.InEpsilon(t, 4096, all[n*99/100], 0.04)
	// One standard deviation of the logarithm is a factor of 16^(1/2.326).
	assert.InEpsilon(t, 256*math.Pow(16, 1/2.3263), all[int(n*0.8413)], 0.03)
	assert.Equal(t, 32, all[0], "the ledger's header")

	all = draws(scenario.Payload{Kind: "lognormal", Min: 200, Max: 300, Median: 256, P99: 4096}, 1, n)
	assert.Equal(t, 200, all[0])
	assert.Equal(t, 300, all[n-1])
	all = draws(scenario.Payload{Kind: "lognormal", Min: 32, Max: 4096, Median: 256, P99: 256}, 1, n)
	assert.Equal(t, []int{256, 256}, []int{all[0], all[n-1]}, "it does not spread")
}

func TestSizesAreWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := scenario.Payload{
			Kind: rapid.SampledFrom([]string{"fixed", "uniform", "lognormal"}).Draw(t, "kind"),
			Min:  rapid.IntRange(32, 1000).Draw(t, "min"), Median: rapid.IntRange(1, 100_000).Draw(t, "median"),
		}
		p.Max = p.Min
		if p.Kind != "fixed" {
			p.Max += rapid.IntRange(0, 1000).Draw(t, "more")
		}
		p.P99 = p.Median + rapid.IntRange(0, 1_000_000).Draw(t, "p99")
		all := draws(p, rapid.Int().Draw(t, "seed"), 100)
		require.GreaterOrEqual(t, all[0], p.Min)
		require.LessOrEqual(t, all[len(all)-1], p.Max)
	})
}

func TestQueuesAreChosenWithTheirShares(t *testing.T) {
	const n, queues = 200_000, 5
	for name, c := range map[string]struct {
		keys   scenario.Keys
		shares [queues]float64
	}{
		"uniform":        {scenario.Keys{Kind: "uniform"}, [queues]float64{0.2, 0.2, 0.2, 0.2, 0.2}},
		"zipf":           {scenario.Keys{Kind: "zipf", Skew: 1}, [queues]float64{60. / 137, 30. / 137, 20. / 137, 15. / 137, 12. / 137}},
		"a strong skew":  {scenario.Keys{Kind: "zipf", Skew: 20}, [queues]float64{0.999999, 0, 0, 0, 0}},
		"a skew below 1": {scenario.Keys{Kind: "zipf", Skew: 0.5}, [queues]float64{0.3094, 0.2188, 0.1787, 0.1547, 0.1384}},
	} {
		w := scenario.Workload{Queues: queues, Keys: c.keys, Seed: 7}
		k, from := newKeys(w), newDraw(w, 0)
		var counts [queues]float64
		for range n {
			counts[k.draw(from)]++
		}
		for i := range counts {
			assert.InDelta(t, c.shares[i], counts[i]/n, 0.005, "%s: queue %d", name, i)
		}
	}
	for _, kind := range []string{"", "round_robin"} {
		k := newKeys(scenario.Workload{Queues: queues, Keys: scenario.Keys{Kind: kind}})
		assert.False(t, k.chosen(), kind)
	}
}

// callsOf returns the queue and the sizes of each call in order, by producer. Each producer has its
// own connection.
func callsOf(t *testing.T, seed int) map[string][]int {
	calls := make(map[string][]int)
	synctest.Test(t, func(t *testing.T) {
		cfg := config(newBroker(), workload(func(w *scenario.Workload) {
			w.Tenants, w.Producers, w.Queues, w.Seed, w.Batch = 2, 2, 4, seed, 2
			w.Keys, w.Payload = scenario.Keys{Kind: "zipf", Skew: 1}, scenario.Payload{Kind: "uniform", Min: 32, Max: 500}
		}))
		var mu sync.Mutex
		_, err := Run(t.Context(), withCalls(cfg, func(tasks []driver.Task) {
			mu.Lock()
			defer mu.Unlock()
			for _, task := range tasks {
				calls[task.Tenant] = append(calls[task.Tenant], int(task.Queue[1]-'0'), len(task.Payload))
			}
		}))
		require.NoError(t, err)
	})
	return calls
}

func TestTheSeedSaysWhatIsSent(t *testing.T) {
	first, again, other := callsOf(t, 3), callsOf(t, 3), callsOf(t, 4)
	require.Len(t, first, 2)
	assert.Equal(t, first, again)
	for tenant := range first {
		assert.NotEqual(t, first[tenant][:100], other[tenant][:100])
	}
	assert.NotEqual(t, first["t0"][:100], first["t1"][:100], "producers draw independently")
}

// If queues are chosen, each producer has all queues of its tenant, and each tenant has a producer.
func TestProducersHaveAllQueuesToChooseFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		producers := rapid.IntRange(1, 40).Draw(t, "producers")
		tenants := rapid.IntRange(1, 6).Draw(t, "tenants")
		queues := rapid.IntRange(1, 6).Draw(t, "queues")
		conns := rapid.IntRange(1, 5).Draw(t, "conns")
		users := make(map[int]int)
		for i := range producers {
			conn, routes := keyedPlace(i, producers, tenants, queues, conns)
			require.Less(t, conn, conns)
			require.Zero(t, len(routes)%queues)
			for at, r := range routes {
				require.Equal(t, at%queues, r.queue)
				require.Equal(t, routes[at/queues*queues].tenant, r.tenant)
				users[r.tenant]++
			}
		}
		require.Len(t, users, tenants)
		for _, n := range users {
			require.InDelta(t, float64(max(producers, tenants))/float64(tenants)*float64(queues), float64(n), float64(queues))
		}
	})
}

// The producers of a closed load start one after the other within the warm-up. Without a warm-up
// they start at once.
func TestClosedProducersDoNotBeginInStep(t *testing.T) {
	begin := func(t *testing.T, warmup time.Duration) (starts []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.ackDelay = time.Hour // one call each
			launched := time.Now()
			var mu sync.Mutex
			cfg := withCalls(config(b, workload(func(w *scenario.Workload) { w.Producers = 10 })), func([]driver.Task) {
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, time.Since(launched))
			})
			cfg.Phases = scenario.Phases{Warmup: warmup, Window: time.Second, Drain: 2 * time.Hour}
			_, err := Run(t.Context(), cfg)
			require.NoError(t, err)
		})
		slices.Sort(starts)
		return starts
	}
	for warmup, over := range map[time.Duration]time.Duration{
		0: 0, 400 * time.Millisecond: 100 * time.Millisecond, 10 * time.Second: staggerMax,
	} {
		starts := begin(t, warmup)
		require.Len(t, starts, 10)
		for i, at := range starts {
			assert.Equal(t, over*time.Duration(i)/10, at, "warm-up of %v", warmup)
		}
	}
}
