package baselinebuild

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	one   = "1111111111111111111111111111111111111111"
	two   = "2222222222222222222222222222222222222222"
	three = "3333333333333333333333333333333333333333"
)

// byHand has an alignment that no formatter produces and no newline at its end.
const byHand = "# Which commit.\nbuild \"" + one + "\" {\n  date = \"2026-11-28\"\n  because   =   \"the first\" # why\n}"

// fileWith returns the path of a file with the given text.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(src)
}

func TestAppendKeepsTheTextBefore(t *testing.T) {
	path := fileWith(t, byHand)
	f, err := Append(path, Build{
		Commit: two, Date: "2026-12-01", Because: "smaller ${frames}", AcceptCreep: "safety",
		Ratios: []Ratio{{"smoke", "cycles_per_s", 0.9012}, {"smoke", "server_cpu_us_per_cycle", 1}, {"raft", "cycles_per_s", 1.5}},
	})
	require.NoError(t, err)
	const want = byHand + `

build "2222222222222222222222222222222222222222" {
  date    = "2026-12-01"
  because = "smaller $${frames}"
  ratio "smoke" {
    cycles_per_s            = 0.9012
    server_cpu_us_per_cycle = 1
  }
  ratio "raft" {
    cycles_per_s = 1.5
  }
  accept_creep = "safety"
}
`
	assert.Equal(t, want, textOf(t, path))
	again, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, again, f)
	assert.Equal(t, "smaller ${frames}", f.Current().Because)

	_, err = Append(path, Build{Commit: three, Date: "2026-12-02", Because: "more", Ratios: []Ratio{{"smoke", "cycles_per_s", 1}}})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(textOf(t, path), want+"\nbuild \""+three))
}

// A mistake in the file or in the build leaves the file unchanged.
func TestAppendRefuses(t *testing.T) {
	path := fileWith(t, byHand)
	for says, spoil := range map[string]func(*Build){
		"is not the full id of a commit":           func(b *Build) { b.Commit = "2222" },
		"the previous build has the same commit":   func(b *Build) { b.Commit = one },
		"because is empty":                         func(b *Build) { b.Because = " " },
		"because is not one line":                  func(b *Build) { b.Because = "a\nb" },
		"the previous build has 2026-11-28":        func(b *Build) { b.Date = "2026-11-27" },
		"has no ratios to the previous build":      func(b *Build) { b.Ratios = nil },
		"unknown metric":                           func(b *Build) { b.Ratios[0].Metric = "cycle_per_s" },
		"cycles_per_s of smoke is NaN":             func(b *Build) { b.Ratios[0].Value = math.NaN() },
		"cycles_per_s of smoke is 0;":              func(b *Build) { b.Ratios[0].Value = 0 },
		"cycles_per_s of smoke is 2e+06":           func(b *Build) { b.Ratios[0].Value = 2e6 },
		"cycles_per_s of smoke to 0.940":           func(b *Build) { b.Ratios[0].Value = 0.94 },
		"accept_creep accepts nothing":             func(b *Build) { b.AcceptCreep = "x" },
		`is not the name of a scenario`:            func(b *Build) { b.Ratios[0].Scenario = "a b" },
		`scenario "smoke" has ratios twice`:        func(b *Build) { b.Ratios = append(b.Ratios, Ratio{"raft", "cycles_per_s", 1}, b.Ratios[0]) },
		`accept_creep is longer than 1000 bytes`:   func(b *Build) { b.AcceptCreep = strings.Repeat("x", 1001) },
		`date is "yesterday", which is not a date`: func(b *Build) { b.Date = "yesterday" },
	} {
		b := Build{Commit: two, Date: "2026-12-01", Because: "x", Ratios: []Ratio{{"smoke", "cycles_per_s", 1}}}
		spoil(&b)
		_, err := Append(path, b)
		require.ErrorContains(t, err, says)
		assert.Equal(t, byHand, textOf(t, path))
	}
	broken := fileWith(t, strings.Replace(byHand, "because", "becase", 1))
	_, err := Append(broken, Build{Commit: two, Date: "2026-12-01", Because: "x", Ratios: []Ratio{{"smoke", "cycles_per_s", 1}}})
	require.ErrorContains(t, err, `did you mean "because"?`)
}

// Any texts and ratios of a build survive a write and a read.
func TestRoundTripOfAnyBuild(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		b := Build{Commit: two, Date: "2026-12-01", Because: "x" + rapid.StringMatching(`[ -~äß€]{0,300}`).Draw(t, "because")}
		for _, scenario := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"smoke", "raft", "full-cycle"}), 1, 3, rapid.ID).Draw(t, "scenarios") {
			for _, m := range metrics {
				if rapid.Bool().Draw(t, m.name) || m.name == "cycles_per_s" {
					b.Ratios = append(b.Ratios, Ratio{scenario, m.name, Round(rapid.Float64Range(RatioMin, RatioMax).Draw(t, "ratio"))})
				}
			}
		}
		if before := (&File{Builds: []Build{{Commit: one}}}); len(before.With(b).Fallen()) > 0 {
			b.AcceptCreep = "y" + rapid.StringMatching(`[ -~äß€]{0,300}`).Draw(t, "accept")
		}
		path := filepath.Join(dir, FileName)
		if err := os.WriteFile(path, []byte(byHand), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Append(path, b); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, b, f.Current())
	})
}

func TestRound(t *testing.T) {
	assert.Equal(t, 1.0123, Round(1.012349))
	assert.Equal(t, 0.98765, Round(0.9876543))
	assert.Equal(t, 123460.0, Round(123456))
}
