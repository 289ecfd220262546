package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const proposable = `# A comment that stays.

baseline "other" {
  floor "cycles_per_s" {
    min     = 1
    because = "another scenario"
  }
}

baseline "smoke" {
  # Why it is so low.
  floor "cycles_per_s" {
    # Inside the block.
    min      = 20000 # behind a value
    observed = 90000
    on       = "an old machine"
    because  = "a \"tenth\""
  }

  ceiling "cycle_latency_ms_p99" {
    max     = 250
    because = "a stall"
  }

  ceiling "server_rss_mb_max" {
    max     = 50
    because = "caches are bounded"
  }

  ceiling "server_cpu_us_per_cycle" {
    max        = 60
    unobserved = "nothing was known"
    because    = "a change of the code"
  }

  ceiling "disk_mb_max" {
    max     = 60
    because = "tasks vanish"
  }

  ceiling "lost" {
    max     = 0
    because = "never"
  }
}
`

func TestPropose(t *testing.T) {
	b, err := baselines(t, proposable)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	r := good()
	r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Manifest.Host.CPUModel, r.Manifest.Host.CPUs = "Some CPU", 2
	set("cycles_per_s", 180_456.7)(r)
	text, changes, err := Propose([]byte(proposable), "one.hcl", smoke, r)
	require.NoError(t, err)
	for i := range changes {
		if changes[i].Evidence != "" {
			assert.Contains(t, changes[i].Evidence, " rounds, ")
			changes[i].Evidence = "shown"
		}
	}
	assert.Equal(t, []Change{
		{"floor cycles_per_s", "90000 on an old machine", "180500 on Some CPU, 2 CPUs, 2026-01-02", "shown", ""},
		{"ceiling cycle_latency_ms_p99", "", "1.25 on Some CPU, 2 CPUs, 2026-01-02", "shown", ""},
		{"ceiling server_rss_mb_max", "", "the published run of 2026-01-02 has 90, which breaks this limit", "shown", ""},
		{"ceiling server_cpu_us_per_cycle", "nothing was known", "5.5 on Some CPU, 2 CPUs, 2026-01-02", "shown", ""},
		{"ceiling disk_mb_max", "", "the published run of 2026-01-02 has no such figure", "", ""},
	}, changes)
	golden.Text(t, "testdata/proposed.golden", string(text))
	assert.Equal(t, 3, strings.Count(string(text), "observed = "+"")-strings.Count(string(text), "unobserved = "))
	again, err := baselines(t, string(text))
	require.NoError(t, err, "the proposed text is a valid baseline")
	smoke, _ = again.For("smoke")
	assert.Equal(t, 20000.0, smoke.Limits[0].Value)
	assert.Equal(t, 180_500.0, smoke.Limits[0].Observed)
	same, changes, err := Propose(text, "one.hcl", smoke, r)
	require.NoError(t, err)
	assert.Empty(t, changes)
	assert.Equal(t, string(text), string(same), "a second proposal must be empty")
}

// For a limit on several points, the figure closest to breaking it is observed; for a relative
// limit, the multiple.
func TestProposeOfPoints(t *testing.T) {
	src := relativeBaseline[:strings.LastIndex(relativeBaseline, "}")] + "  floor \"cycles_per_s\" {\n    min     = 1\n    because = \"x\"\n  }\n}\n"
	b, err := baselines(t, src)
	require.NoError(t, err)
	baseline, _ := b.For("scaling")
	r := relatives(2.4)
	lowest := r.Points[0].Metrics["cycles_per_s"].Median
	for _, p := range r.Points {
		lowest = min(lowest, p.Metrics["cycles_per_s"].Median)
	}
	text, changes, err := Propose([]byte(src), "one.hcl", baseline, r)
	require.NoError(t, err)
	require.Len(t, changes, 2)
	again, err := baselines(t, string(text))
	require.NoError(t, err)
	baseline, _ = again.For("scaling")
	assert.InDelta(t, roundTo(lowest), baseline.Limits[0].Observed, 1e-9)
	assert.InDelta(t, 1.6, baseline.Limits[1].Observed, 1e-9)
}

func TestProposeRefuses(t *testing.T) {
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	s := golden.Cases(t, "testdata/proposals.golden")
	_, _, err = Propose([]byte(testBaseline), "one.hcl", smoke, good())
	s.Error(t, "several attributes on a line", err)
	_, _, err = Propose([]byte("baseline \"a\" {\n}\n"), "one.hcl", smoke, good())
	s.Error(t, "no baseline", err)
}

// The observations in the baselines are those of the published runs. Soaks and serial budgets have
// no baseline. Nor have target servers: they are other products, which no commit changes, and a
// limit of all points would apply to the slowest product.
func TestBaselinesObserveThePublishedRuns(t *testing.T) {
	root := filepath.Join("..", "..")
	b, err := LoadBaselines(filepath.Join(root, "baselines"))
	require.NoError(t, err)
	runs, err := filepath.Glob(filepath.Join(root, "reports", "data", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	for _, folder := range runs {
		soaked, err := result.IsSoak(folder)
		require.NoError(t, err)
		if soaked {
			continue // judged by drift, not by a baseline
		}
		budget, err := result.IsSerial(folder)
		require.NoError(t, err)
		if budget {
			continue // not judged
		}
		r, _, err := result.Read(folder)
		require.NoError(t, err)
		baseline, found := b.For(r.Scenario)
		if !found {
			if r.Manifest.Scenario.Topology.Kind == scenario.ByProgram {
				continue
			}
			assert.NotEmpty(t, r.Manifest.Scenario.Limits, "%s is published but has neither a baseline nor limits in its file", r.Scenario)
			continue
		}
		src, err := os.ReadFile(baseline.File)
		require.NoError(t, err)
		_, changes, err := Propose(src, baseline.File, baseline, r)
		require.NoError(t, err)
		assert.Empty(t, changes, "%s: run 'make baselines'", baseline.File)
	}
}

// The evidence of a change is the number of rounds with the figure and their range. With several
// points, it is that of the point nearest to the limit.
func TestProposeShowsItsEvidence(t *testing.T) {
	b, err := baselines(t, proposable)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	r := good()
	r.Metrics["cycles_per_s"] = result.Metric{Median: 180_456.7, Low: 170_000, High: 190_000, N: 6}
	_, changes, err := Propose([]byte(proposable), "one.hcl", smoke, r)
	require.NoError(t, err)
	assert.Equal(t, "180500 in 6 rounds, 170000 to 190000", changes[0].Evidence)

	r = relatives(2.4)
	_, evidence, err := observed(Limit{Metric: "cycles_per_s", Kind: Floor, Value: 1}, nil, r)
	require.NoError(t, err)
	assert.Contains(t, evidence, "the nearest to the limit of ")
}

// The observations for limit blocks outside of the scenario's file are returned with the places of
// the blocks and not written.
func TestProposeCarried(t *testing.T) {
	r := carrying(floorAt(1, "s.hcl:3:3"), scenario.Limit{Metric: "dropped", Max: new(0.0), Where: "s.hcl:7:3"})
	r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Manifest.Host.CPUModel, r.Manifest.Host.CPUs = "Some CPU", 2
	set("cycles_per_s", 180_456.7)(r)
	changes := ProposeCarried(r)
	require.Len(t, changes, 1, "a limit of 0 needs no observation")
	assert.Equal(t, "floor cycles_per_s", changes[0].Limit)
	assert.Equal(t, "180500 on Some CPU, 2 CPUs, 2026-01-02", changes[0].To)
	assert.Equal(t, "s.hcl:3:3", changes[0].Where)
	said := &r.Manifest.Scenario.Limits[0]
	said.Observed, said.On = 180_500, "Some CPU, 2 CPUs, 2026-01-02"
	assert.Empty(t, ProposeCarried(r))
}
