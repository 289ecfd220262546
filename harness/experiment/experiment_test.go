package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

const byPerson = `# What was tried.

experiment "one" {
  named_by   = "a profile"
  hypothesis = "faster"
  change     = "less"
  effect     = "10 % # not a comment"
  kept       = true
}

# Between two.
experiment "client's" {
  named_by   = "a profile"
  hypothesis = "faster"
  change     = "less"
  effect     = "none"
  measured   = "two shared cores"
  kept       = false
  note       = "again"
}
`

// The ledger of this repository is valid and has entries of both kinds: measured by persons and by
// ratchets.
func TestLedgerOfTheRepository(t *testing.T) {
	all, err := Load("../../reports/experiments.hcl")
	require.NoError(t, err)
	assert.Greater(t, len(all), 40)
	assert.Equal(t, "codec-without-reflection", all[0].Name)
	assert.True(t, all[0].Kept)
	assert.Nil(t, all[0].Measurement)
	scored := 0
	for _, e := range all {
		assert.False(t, e.Kept && e.Measurement == nil && e.Code == "", "%s has kept = true but no code location", e.Name)
		if e.Measurement != nil && e.Measurement.Score != nil {
			scored++
		}
	}
	assert.GreaterOrEqual(t, scored, 2)
}

func whole() Experiment {
	return Experiment{
		Name: "newer-instructions", Hypothesis: `newer "instructions" pay ${x} %{y}`, Change: "the same source, with GOAMD64=v3", File: "engine/queue/claim.go:12", Code: "engine/queue/claim.go: func claim",
		Effect: "score 0.980 (0.970 to 0.990) over 12 generations: better", Cost: "no old processors", Kept: true, Note: "C:\\ 100 %",
		Measurement: &Measurement{
			Started: time.Date(2026, 11, 24, 3, 50, 12, 0, time.UTC), Base: "0123456789abcdef", Commit: "fedcba", Dirty: true, Options: "GOAMD64=v3",
			Scenario: "ratchet", Durability: "none", Command: "prony ratchet --cost 'x y'", Host: "2 CPUs, some model", Go: "go1.26", Seconds: 131.3,
			Generations: 12, Points: 7, MoreWorse: 3, Tests: "true", Score: &Ratio{0.98, 0.97, 0.99},
			Figures: []Figure{
				{Metric: "cycles_per_s", Unit: "1/s", Base: 98760, Change: 99870, Ratio: Ratio{1.011, 1.003, 1.02}},
				{Metric: "cycles_per_s", Point: "workers=8, producers=8", Base: 0.001234, Change: 1, Ratio: Ratio{0.5, 0.5, 0.5}, Worse: true},
			},
		},
	}
}

// Append writes an experiment that reads back unchanged, and preserves all earlier text, comments
// included.
func TestAppendKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "experiments.hcl")
	require.NoError(t, os.WriteFile(path, []byte(byPerson), 0o600))
	require.NoError(t, Append(path, whole()))
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(src), byPerson), "%s", src)
	assert.NotContains(t, string(src)[len(byPerson):], "named_by", "empty texts are omitted")
	all, err := Load(path)
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, "client's", all[1].Name)
	assert.Equal(t, whole(), all[2])

	s := golden.Cases(t, "testdata/names.golden")
	s.Replace(path, "LEDGER")
	s.Error(t, "a known name", Append(path, whole()))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, src, again)
	require.Error(t, CheckNew(path, "one"))
	require.NoError(t, CheckNew(path, "two"))
	s.Error(t, "an invalid name", CheckNew(path, "Two"))
}

func TestAppendMakesALedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "experiments.hcl")
	require.NoError(t, CheckNew(path, "newer-instructions"))
	require.NoError(t, Append(path, whole()))
	all, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, []Experiment{whole()}, all)
}

// A mistake in the ledger or in the experiment leaves the file unchanged.
func TestAppendRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "experiments.hcl")
	broken := strings.Replace(byPerson, "kept       = true", "kep = true", 1)
	require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
	s := golden.Cases(t, "testdata/refused.golden")
	s.Replace(path, "LEDGER")
	s.Error(t, "a broken ledger", Append(path, whole()))
	require.NoError(t, os.WriteFile(path, []byte(byPerson), 0o600))
	for name, spoil := range map[string]func(*Experiment){
		"no cost":                        func(e *Experiment) { e.Cost = " " },
		"kept although disqualified":     func(e *Experiment) { e.Measurement.Disqualified = "it lost tasks" },
		"neither a score nor a reason":   func(e *Experiment) { e.Measurement.Score, e.Kept = nil, false },
		"a score outside its interval":   func(e *Experiment) { e.Measurement.Score = &Ratio{2, 0.5, 1} },
		"kept without an effect":         func(e *Experiment) { e.Kept, e.Measurement.Score = true, &Ratio{0.98, 0.97, 1.01} },
		"rejected with a reason to keep": func(e *Experiment) { e.Kept, e.KeptFor = false, "shorter" },
		"a figure twice":                 func(e *Experiment) { e.Measurement.Figures[1].Point = "" },
		"a file as code":                 func(e *Experiment) { e.Code = "claim.go" },
		"an absolute path as code":       func(e *Experiment) { e.Code = "/a.go: func a" },
		"an invalid name":                func(e *Experiment) { e.Name = "newer instructions" },
	} {
		e := whole()
		spoil(&e)
		s.Error(t, name, Append(path, e))
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, byPerson, string(src))
	}
}

// All mistakes are reported in one pass, each with its line.
func TestMistakesOfALedger(t *testing.T) {
	_, err := parse("x.hcl", []byte(`
experiment "one" {
  hypothesis = "faster"
  change     = "less"
  effect     = "none"
}
experiment "one" {
  named_by   = "a"
  hypothesis = 3
  change     = "less"
  efect      = "none"
  kept       = false
}
experiment "two" {
  hypothesis = "faster"
  change     = "less"
  effect     = "none"
  kept       = false
  ratchet {
    started  = "yesterday"
    base     = "a"
    commit   = "b"
    scenario = "c"
    command  = "d"
  }
}
`))
	golden.Cases(t, "testdata/mistakes.golden").Error(t, "a ledger", err)
}

// An experiment reads back with the texts and numbers that it was written with, whatever they are.
func TestRoundTripOfAnyExperiment(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			if text := OneLine(rapid.StringMatching(`[ -~äß€\n\t]{1,200}`).Draw(t, name)); text != "" {
				return text
			}
			return "x"
		}
		e := whole()
		e.Hypothesis, e.Cost, e.Note, e.Measurement.Command = text("hypothesis"), text("cost"), text("note"), text("command")
		e.Kept, e.KeptFor = true, text("kept_for")
		low := rapid.Float64Range(0.001, 1).Draw(t, "low")
		e.Measurement.Score = &Ratio{Low: low, Ratio: low * 1.1, High: low * 1.3}
		path := filepath.Join(dir, "experiments.hcl")
		require.NoError(t, os.WriteFile(path, []byte(byPerson), 0o600))
		require.NoError(t, Append(path, e))
		all, err := Load(path)
		require.NoError(t, err)
		got := all[2]
		assert.InEpsilon(t, low*1.1, got.Measurement.Score.Ratio, 0.001)
		e.Measurement.Score, got.Measurement.Score = nil, nil
		assert.Equal(t, e, got)
	})
}

func TestOneLine(t *testing.T) {
	assert.Equal(t, "a b c", OneLine(" a\n\tb\x00c "))
	long := OneLine(strings.Repeat("ä", textMax))
	assert.LessOrEqual(t, len(long), textMax)
	assert.True(t, strings.HasSuffix(long, "ä..."))
	assert.Equal(t, "?", OneLine("\xff"))
}
