package gate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

const own = module + "engine/"

// made describes a result with five rounds of a second, whose figures vary randomly by the fraction
// vary between rounds.
type made struct {
	cycles   float64 // per second
	vary     float64
	fsyncs   float64            // per cycle
	fsyncUs  float64            // per cycle
	stagesUs map[string]float64 // per cycle
}

func base() made {
	return made{
		cycles: 50_000, vary: 0.02, fsyncs: 0.02, fsyncUs: 2,
		stagesUs: map[string]float64{"receive": 1, "inbox": 3, "decide": 3, "apply": 4, "commit_wait": 1, "commit": 5, "reply": 2},
	}
}

func (m made) result(seed uint64) *result.Result {
	random := rand.New(rand.NewPCG(seed, seed))
	near := func(v float64) float64 { return v * (1 + m.vary*(2*random.Float64()-1)) }
	r := &result.Result{}
	for i := range 5 {
		cycles := near(m.cycles)
		round := result.Round{Number: i + 1, WindowSeconds: 1, Cycles: uint64(cycles), Metrics: map[string]float64{
			result.StorageFsyncsPerCycle: near(m.fsyncs), result.StorageFsyncUsPerCycle: near(m.fsyncUs),
		}}
		for _, name := range []string{"receive", "inbox", "decide", "apply", "commit_wait", "commit", "reply"} {
			buckets := make([]uint64, 25)
			buckets[4] = uint64(cycles / 7)
			round.Stages = append(round.Stages, result.StageOf(name, near(m.stagesUs[name])*cycles/1e3, buckets))
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// between returns the causes of the difference between two results and their profile deltas.
func between(b, c made, deltas ...result.ProfileDelta) []result.Cause {
	return causesOf([]*result.Result{b.result(1), b.result(2)}, c.result(3), deltas, differs, lost{})
}

func TestTheSameBuildIsNotAccused(t *testing.T) {
	for draw := range uint64(200) {
		require.Empty(t, causesOf([]*result.Result{base().result(3 * draw), base().result(3*draw + 1)}, base().result(3*draw+2), nil, differs, lost{}), "draw %d", draw)
	}
}

// cpu returns the delta of a function with a significant increase of CPU time.
func cpu(baseNs, changeNs float64) result.ProfileDelta {
	more := changeNs - baseNs
	return result.ProfileDelta{Kind: "cpu", Unit: "nanoseconds", Function: own + "x.work", Base: baseNs, Change: changeNs, Low: 0.9 * more, High: 1.1 * more}
}

func TestCausesNameWhatChanged(t *testing.T) {
	lock := cpu(100, 6000)
	lock.Kind, lock.Function = profile.KindLock, "x.T.mu"
	client := cpu(0, 5000)
	client.Node = result.GeneratorNode
	allocs := result.ProfileDelta{Kind: "allocs", Unit: "bytes", Function: own + "x.work", Change: 65536, Low: 60000, High: 70000}
	s := golden.Cases(t, "testdata/causes.golden")
	for name, test := range map[string]struct {
		change func(*made)
		deltas []result.ProfileDelta
		kind   string
		name   string
	}{
		"a function that computes": {
			nil,
			[]result.ProfileDelta{cpu(0, 5000)},
			"cpu", own + "x.work",
		},
		"a function that allocates": {
			nil,
			[]result.ProfileDelta{cpu(1000, 15_000), allocs},
			"cpu", own + "x.work",
		},
		"a function of the client": {nil, []result.ProfileDelta{client}, "cpu", own + "x.work"},
		"a lock": {
			nil,
			[]result.ProfileDelta{lock},
			"lock", "x.T.mu",
		},
		"fsyncs": {
			func(m *made) { m.fsyncs, m.fsyncUs = 1, 400; m.stagesUs["commit"] = 400 },
			nil, "fsync", "prony_storage_fsyncs_total",
		},
		"a sleep in a stage": {
			func(m *made) { m.stagesUs["apply"] = 550 },
			nil, "stage", "apply",
		},
		"a sleep where messages arrive": {
			func(m *made) { m.stagesUs["receive"] = 2000 },
			nil, "stage", "receive",
		},
		"a function that makes a stage longer": {
			func(m *made) { m.stagesUs["apply"] += 5 },
			[]result.ProfileDelta{cpu(0, 5000)},
			"cpu", own + "x.work",
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := base()
			if test.change != nil {
				test.change(&changed)
			}
			causes := between(base(), changed, test.deltas...)
			require.NotEmpty(t, causes)
			assert.Equal(t, test.kind, causes[0].Kind, "%+v", causes)
			assert.Equal(t, test.name, causes[0].Name)
			s.Equal(t, name, causes[0].Sentence)
			assert.Len(t, causes, 1, "a cause excludes the time that another one explains: %+v", causes)
		})
	}
}

// A difference that is small, uncertain or an improvement is not a cause.
func TestWhatIsNoCause(t *testing.T) {
	assert.Empty(t, between(base(), base(), cpu(0, 900)), "less than five percent of 20 µs")
	assert.NotEmpty(t, between(base(), base(), cpu(0, 1100)))
	unsure := cpu(0, 5000)
	unsure.Low = -1
	assert.Empty(t, between(base(), base(), unsure), "the interval includes zero")
	assert.Empty(t, between(base(), base(), cpu(9000, 1000)), "it takes less")
	scheduling := cpu(0, 5000)
	scheduling.Function = result.ChargeScheduling
	assert.Empty(t, between(base(), base(), scheduling), "scheduling follows from the waits")
	slow := base()
	slow.stagesUs["apply"], slow.vary = 4.5, 0.9
	assert.Empty(t, between(base(), slow), "the rounds vary by more")
	one := base().result(1)
	one.Rounds = one.Rounds[:1]
	worse := base()
	worse.stagesUs["apply"] = 900
	assert.Empty(t, causesOf([]*result.Result{one}, worse.result(2), nil, differs, lost{}), "one round has no interval")
}

// Missing figures cause no accusation and no failure.
func TestCausesOfResultsThatLackThings(t *testing.T) {
	slow := base()
	slow.stagesUs["apply"] = 900
	bare := &result.Result{Rounds: []result.Round{{WindowSeconds: 1, Cycles: 10}}}
	for _, r := range []*result.Result{{}, bare, {Rounds: []result.Round{{Profiled: true, Cycles: 5}}}, {Points: []result.Point{{}}}} {
		assert.Empty(t, causesOf([]*result.Result{base().result(1)}, r, nil, differs, lost{}))
		assert.Empty(t, causesOf([]*result.Result{r}, slow.result(1), nil, differs, lost{}))
		assert.Empty(t, Costs(r))
	}
}

// beside returns two sides of a duet on a host whose disk speed differs up to tenfold between
// generations. The commits of the change need the given microseconds per cycle more in each
// generation.
func beside(more float64, generations int) (sides [2]result.Arm) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range sides {
		sides[i].Result = &result.Result{}
	}
	for g := range generations {
		slow := 1 + 9*random.Float64()
		for i := range sides {
			const cycles = 50_000
			us := 5*slow + float64(i)*more*(0.9+0.2*random.Float64())
			sides[i].Result.Rounds = append(sides[i].Result.Rounds, result.Round{
				Number: g + 1, WindowSeconds: 1, Cycles: cycles, Stages: []result.Stage{result.StageOf("commit", us*cycles/1e3, []uint64{cycles})},
			})
		}
	}
	return sides
}

// A stage of a duet is compared within each generation, so a host whose speed differs between
// generations neither hides nor causes a difference.
func TestStagesOfADuet(t *testing.T) {
	sides := beside(3, 12)
	explain := func(sides [2]result.Arm) *result.Comparison {
		c := &result.Comparison{Verdict: result.Regressed}
		require.NoError(t, ExplainDuet(c, &result.Duet{}, sides[0], sides[1]))
		return c
	}
	c := explain(sides)
	causes := c.Causes
	assert.Empty(t, c.Profiles, "no profiles were taken")
	require.Len(t, causes, 1)
	assert.Equal(t, &result.CauseSearch{LookedAt: 6, Share: 0.05, Confidence: 0.95}, c.Search)
	assert.Equal(t, "commit", causes[0].Name)
	assert.InDelta(t, 3, causes[0].Score, 0.2)
	assert.Contains(t, causes[0].Sentence, "stage commit takes ")
	unpaired, _, err := Explain(sides[:1], sides[1])
	require.NoError(t, err)
	assert.Empty(t, unpaired, "the host differs by more between generations")

	for name, none := range map[string][2]result.Arm{
		"the same": beside(0, 12), "less than five percent of 20 µs": beside(0.9, 12), "less than before": beside(-3, 12), "one generation": beside(3, 1),
	} {
		assert.Empty(t, explain(none).Causes, name)
	}
	sides[1].Result.Rounds[0].Stages = nil
	sides[1].Result.Rounds = sides[1].Result.Rounds[:11] // so that two generations lack one side
	assert.Len(t, explain(sides).Causes, 1)
}

func TestCostsSayWhereTheTimeGoes(t *testing.T) {
	r := base().result(1)
	for i := range r.Rounds { // tasks wait in this stage, and nothing works
		r.Rounds[i].Stages = append(r.Rounds[i].Stages, result.StageOf(result.StageReady, 1e6, []uint64{0, 0, 1000}))
	}
	site := func(f string) []result.LockSite { return []result.LockSite{{Function: own + f}} }
	r.Profiles = []result.Profile{
		{Kind: "cpu", Cycles: 1e6, Total: 10e9, Charges: []result.Charge{
			{Function: own + "storage.(*Store).apply", Value: 4e9, Samples: 400}, {Function: own + "shard.tiny", Value: 1e8, Samples: 10},
		}},
		{Kind: "cpu", Node: result.GeneratorNode, Cycles: 1e6, Total: 8e9, Charges: []result.Charge{{Function: own + "client.send", Value: 4e9, Samples: 400}}},
	}
	r.Locks = []result.Lock{
		{Name: "shard.inbox.mu", Kind: "mutex", WaitNsPerCycle: 1500, Share: 0.1, Holders: site("shard.(*inbox).put"), Waiters: site("shard.(*inbox).take")},
		{Name: "x.T.c", Kind: "channel", WaitNsPerCycle: 1200, Waiters: site("x.send")},
		{Name: "raft.(*netPipeline).AppendEntries", Kind: "select", WaitNsPerCycle: 2.5, Share: 1},
		{Name: "runtime.sysmon", Kind: "runtime", WaitNsPerCycle: 9000},
		{Name: "client.T.mu", Kind: "mutex", Node: result.GeneratorNode, WaitNsPerCycle: 1600},
	}
	costs := Costs(r)
	var all strings.Builder
	for i, c := range costs {
		all.WriteString(c.Sentence + "\n")
		assert.GreaterOrEqual(t, c.Score, 1.0, "five percent of 20 µs")
		if i > 0 {
			assert.LessOrEqual(t, c.Score, costs[i-1].Score, "the largest first")
		}
	}
	for _, not := range []string{"runtime.sysmon", "AppendEntries", "tiny", "stage ready"} {
		assert.NotContains(t, all.String(), not)
	}
	golden.Text(t, "testdata/costs.golden", all.String())
}
