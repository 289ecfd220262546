package baselinebuild

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The file of this repository is valid.
func TestFileOfTheRepository(t *testing.T) {
	f, err := Read("../../baselines/" + FileName)
	require.NoError(t, err)
	assert.Equal(t, "4e7acbc4eff07ad4f44e3292ae640db8c880c679", f.Builds[0].Commit)
}

func TestRead(t *testing.T) {
	f, err := parse("build.hcl", []byte(`
build "1111111111111111111111111111111111111111" {
  date    = "2026-11-28"
  because = "the first"
}
build "2222222222222222222222222222222222222222" {
  date    = "2026-12-01"
  because = "frames are \"smaller\""
  ratio "smoke" {
    stream_frames_per_cycle = 2
    server_cpu_us_per_cycle = 0.988
    cycles_per_s            = 1.012
  }
  ratio "raft" { cycles_per_s = 0.94 }
  accept_creep = "safety"
}
`))
	require.NoError(t, err)
	assert.Equal(t, []Build{
		{Commit: "1111111111111111111111111111111111111111", Date: "2026-11-28", Because: "the first"},
		{
			Commit: "2222222222222222222222222222222222222222", Date: "2026-12-01", Because: `frames are "smaller"`, AcceptCreep: "safety",
			Ratios: []Ratio{
				{"smoke", "cycles_per_s", 1.012},
				{"smoke", "server_cpu_us_per_cycle", 0.988},
				{"smoke", "stream_frames_per_cycle", 2},
				{"raft", "cycles_per_s", 0.94},
			},
		},
	}, f.Builds)
	assert.Equal(t, f.Builds[1], f.Current())
}

// One error reports all problems of a file.
func TestReadDiagnostics(t *testing.T) {
	f, err := Read("testdata/bad.hcl")
	require.Nil(t, f)
	var d *hclfile.Diagnostics
	require.ErrorAs(t, err, &d)
	golden.Text(t, "testdata/bad.golden", err.Error()+"\n")
}

func TestReadRefusesWhatHasNoBuild(t *testing.T) {
	_, err := parse("build.hcl", []byte("# nothing\n"))
	require.ErrorContains(t, err, `the file has no build block`)
	_, err = Read("testdata/absent.hcl")
	require.ErrorContains(t, err, "testdata/absent.hcl: cannot be read")
}
