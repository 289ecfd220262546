package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestSoak(t *testing.T) {
	all, err := Load("testdata/soak.hcl")
	require.NoError(t, err)
	s := all[0]
	assert.Equal(t, &Soak{
		For: time.Hour, FaultsEvery: 10, Keep: SoakKeep{Age: 48 * time.Hour, Bytes: 512 << 20}, DriftPercentMax: 3,
		Drifts: []SoakDrift{{"disk_mb", 5, "compactions come in steps"}},
	}, s.Soak)
	assert.Equal(t, 1, s.Rounds)
	assert.Equal(t, 360, s.SoakWindows(s.Soak.For))
	assert.Equal(t, 2, s.SoakWindows(11*time.Second), "the last window is a whole one")
	assert.Equal(t, time.Second+360*(10+30)*time.Second, s.Duration())
	assert.Equal(t, 3*time.Second+time.Second+360*(10+1)*time.Second, s.Expected())
	assert.InDelta(t, 5, s.Soak.Drift(SoakDisk), 0)
	assert.InDelta(t, 3, s.Soak.Drift(SoakRate), 0)
	var with []int
	for number := range 31 {
		if number > 0 && s.Soak.HasFaults(number) {
			with = append(with, number)
		}
	}
	assert.Equal(t, []int{10, 20, 30}, with)
	golden.Cases(t, "testdata/soak.golden").Error(t, "prony run", s.SoakProblem("prony run"))
}

func TestSoakByDefault(t *testing.T) {
	s := parsed(t, `scenario "s" {
  topology "single" { durability = "none" }
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "10s" }
  soak { for = "25s" }
}`)
	assert.Equal(t, &Soak{For: 25 * time.Second, Keep: SoakKeep{Age: 7 * 24 * time.Hour, Bytes: 1 << 30}, DriftPercentMax: 2}, s.Soak)
	assert.False(t, s.Soak.HasFaults(1), "without faults no window has them")
	require.NoError(t, (&Scenario{}).SoakProblem("prony run"))
}

func TestDiskSizes(t *testing.T) {
	for text, want := range map[string]int64{"1MiB": 1 << 20, "1GiB": 1 << 30, "1536MiB": 3 << 29} {
		var size diskSize
		require.NoError(t, size.UnmarshalText([]byte(text)))
		assert.Equal(t, want, int64(size))
		assert.Equal(t, text, FormatDiskSize(want))
	}
	for _, text := range []string{"", "1", "1GB", "-1GiB", "1.5GiB", "99999999GiB"} {
		var size diskSize
		require.Error(t, size.UnmarshalText([]byte(text)), text)
	}
}

// Each soak of the repository has the name of its file, checks the ledger, and is in the list of
// files.
func TestRepositorySoaks(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/soak/*.hcl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all, err := Load(files...)
	require.NoError(t, err)
	readme, err := os.ReadFile("../../scenarios/README.md")
	require.NoError(t, err)
	for _, s := range all {
		base := filepath.Base(s.File)
		assert.Equal(t, "soak-"+strings.TrimSuffix(base, ".hcl"), s.Name)
		assert.NotNil(t, s.Soak, s.Name)
		assert.Contains(t, s.Invariants, Invariant{Kind: Conserved}, s.Name)
		assert.Contains(t, string(readme), "(soak/"+base+")")
	}
}
