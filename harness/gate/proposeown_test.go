package gate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

const proposableScenario = `# What is measured, and why.
scenario "other" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 8  workers = 16 }
  phases { window = "5s" }
  limit "cycles_per_s" { min = 1  because = "another scenario" }
}

scenario "smoke" {
  include "shared/parts.hcl" {}
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 16
  }

  # Why there is a floor.
  limit "cycles_per_s" {
    min      = 20000 # a tenth
    observed = 90000 # in January
    on       = "an old machine"
    # Why it is so low.
    because  = "a \"tenth\""
  }

  limit "cycle_latency_ms_p99" { max = 250  because = "a stall" } # behind a block
  limit "server_rss_mb_max" {
    max      = 80
    observed = 70  on = "an old machine"
    because  = "its bound"
  }
  limit "disk_mb_max" {
    max        = 10
    observed   = 1
    on         = "an old machine"
    because    = "x"
  }
  limit "server_cpu_us_per_cycle" {
    max        = 100
    unobserved = "nothing was known"
    because    = "x"
  }
  limit "dropped" {
    max     = 0
    because = "0 is all that can be observed"
  }
}
`

// A run's observations are written into the limits of the scenario's file. All other text is
// preserved.
func TestProposeOwn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "two.hcl")
	shared := filepath.Join(dir, "shared", "parts.hcl")
	require.NoError(t, os.MkdirAll(filepath.Dir(shared), 0o700))
	require.NoError(t, os.WriteFile(shared, []byte("topology \"single\" { durability = \"none\" }\nphases { window = \"5s\" }\nlimit \"server_goroutines_max\" {\n  max     = 1000\n  because = \"for all that include it\"\n}\n"), 0o600))
	load := func(text []byte) *scenario.Scenario {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		all, err := scenario.LoadChecked(nil, scenario.Checks{Limit: CheckLimit}, file)
		require.NoError(t, err, "%s", text)
		return all[1]
	}
	s := load([]byte(proposableScenario))
	r := good()
	r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Manifest.Host.CPUModel, r.Manifest.Host.CPUs = "Some CPU", 2
	set("cycles_per_s", 180_456.7)(r)
	set("server_goroutines_max", 40)(r)
	text, changes, err := ProposeOwn([]byte(proposableScenario), s, r)
	require.NoError(t, err)
	assert.Equal(t, `# What is measured, and why.
scenario "other" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 8  workers = 16 }
  phases { window = "5s" }
  limit "cycles_per_s" { min = 1  because = "another scenario" }
}

scenario "smoke" {
  include "shared/parts.hcl" {}
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 16
  }

  # Why there is a floor.
  limit "cycles_per_s" {
    min      = 20000 # a tenth
    observed = 180500 # in January
    on       = "Some CPU, 2 CPUs, 2026-01-02"
    # Why it is so low.
    because  = "a \"tenth\""
  }

  limit "cycle_latency_ms_p99" { max = 250  observed = 1.25  on = "Some CPU, 2 CPUs, 2026-01-02"  because = "a stall" } # behind a block
  limit "server_rss_mb_max" {
    max      = 80
    unobserved = "the published run of 2026-01-02 has 90, which breaks this limit"
    because  = "its bound"
  }
  limit "disk_mb_max" {
    max        = 10
    unobserved = "the published run of 2026-01-02 has no such figure"
    because    = "x"
  }
  limit "server_cpu_us_per_cycle" {
    max        = 100
    observed   = 5.5
    on         = "Some CPU, 2 CPUs, 2026-01-02"
    because    = "x"
  }
  limit "dropped" {
    max     = 0
    because = "0 is all that can be observed"
  }
}
`, string(text))
	var places []string
	for _, c := range changes {
		places = append(places, c.Where)
	}
	assert.Equal(t, []string{shared + ":3:1", "", "", "", "", ""}, places, "a shared file must not be edited")

	again, changes, err := ProposeOwn(text, load(text), r)
	require.NoError(t, err)
	assert.Len(t, changes, 1, "only the shared limit remains")
	assert.Equal(t, string(text), string(again))
}

// A file with aligned attributes is still aligned after the edit.
func TestProposeOwnAligns(t *testing.T) {
	const src = `scenario "smoke" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = 16
  }
  phases { window = "5s" }
  limit "cycles_per_s" {
    min     = 20000
    because = "x"
  }
}
`
	file := filepath.Join(t.TempDir(), "one.hcl")
	require.NoError(t, os.WriteFile(file, []byte(src), 0o600))
	all, err := scenario.LoadChecked(nil, scenario.Checks{Limit: CheckLimit}, file)
	require.NoError(t, err)
	r := good()
	r.Manifest.Host.CPUModel, r.Manifest.Host.CPUs = "Some CPU", 2
	text, _, err := ProposeOwn([]byte(src), all[0], r)
	require.NoError(t, err)
	golden.Text(t, "testdata/aligned.golden", string(text))

	_, _, err = ProposeOwn([]byte("scenario \"smoke\" {}\n"), all[0], r)
	s := golden.Cases(t, "testdata/noblock.golden")
	s.Replace(file, "FILE")
	s.Error(t, "the block was removed", err)
}
