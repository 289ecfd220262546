package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// The published data has exactly the slow commits that its page shows, and the page is the same as
// that of the complete data.
func TestPublishedDataHasTheSlowCommitsOfItsPage(t *testing.T) {
	r, hists := fixture(t, 3, 1)
	for i := range r.Rounds {
		of := &result.Stalls{SlowMs: 5, Causes: []result.StallCause{{Cause: "fsync", Commits: 15, Ms: 600}}, Missing: 2}
		for k := range 15 {
			of.Commits = append(of.Commits, result.SlowCommit{
				AtS: float64(k) / 10, Ms: float64(10 + 3*k + i), Cause: "fsync", CausesMs: map[string]float64{"fsync": float64(10 + 3*k + i)},
			})
			of.Work = append(of.Work, result.StoreWork{Kind: "flush", Store: "0", AtS: float64(k) / 10, Ms: 50})
		}
		r.Rounds[i].Stalls = of
	}
	r.Repeated = []result.Round{{Number: 2, Verdict: result.Invalid, Stalls: r.Rounds[1].Stalls}}
	run := stored(t, r, hists)
	whole, err := report.Render(nil, run, t.TempDir())
	require.NoError(t, err)
	require.Contains(t, bases(whole), "fixture-stalls.svg")
	reports := t.TempDir()
	written, err := report.Publish(nil, run, reports)
	require.NoError(t, err)
	assert.Equal(t, contents(t, whole), contents(t, written))

	kept, _, err := result.Read(filepath.Join(reports, "data", "fixture"))
	require.NoError(t, err)
	var commits, work []int
	for i, round := range kept.Rounds {
		commits, work = append(commits, len(round.Stalls.Commits)), append(work, len(round.Stalls.Work))
		assert.Equal(t, uint64(2+15), round.Stalls.Missing+uint64(len(round.Stalls.Commits)), "all commits are counted: round %d", i)
		assert.Equal(t, r.Rounds[i].Stalls.Causes, round.Stalls.Causes)
	}
	assert.Equal(t, []int{6, 7, 15, 0}, commits, "20 are listed, all of the third round are drawn, and the last round was profiled")
	assert.Equal(t, []int{0, 0, 15, 0}, work)

	require.Len(t, kept.Repeated, 1)
	assert.Empty(t, kept.Repeated[0].Stalls.Commits, "no page shows those of a repeated round")
	assert.Empty(t, kept.Repeated[0].Stalls.Work)
	assert.Equal(t, uint64(2+15), kept.Repeated[0].Stalls.Missing)

	again, _, err := result.Read(run)
	require.NoError(t, err)
	assert.Len(t, again.Rounds[0].Stalls.Commits, 15, "the run's folder is unchanged")
}

// Published rounds have the counters of servers that verdicts read, and no others.
func TestPublishedCountersAreThoseThatVerdictsRead(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	counters := func() map[string]float64 {
		return map[string]float64{"prony_commit_seconds_sum": 2, "prony_commit_seconds_count": 4, "go_goroutines": 9}
	}
	r.Rounds[0].Server = counters()
	r.Rounds[1].Nodes = []result.Node{{ID: "n1", Server: counters()}}
	r.Repeated = []result.Round{{Number: 3, Verdict: result.Invalid, Server: counters()}}
	run, reports := stored(t, r, hists), t.TempDir()
	_, err := report.Publish(nil, run, reports)
	require.NoError(t, err)
	kept, _, err := result.Read(filepath.Join(reports, "data", "fixture"))
	require.NoError(t, err)
	read := map[string]float64{"prony_commit_seconds_sum": 2, "prony_commit_seconds_count": 4}
	assert.Equal(t, read, kept.Rounds[0].Server)
	assert.Equal(t, read, kept.Repeated[0].Server)
	assert.Empty(t, kept.Rounds[1].Nodes[0].Server)
	again, _, err := result.Read(run)
	require.NoError(t, err)
	assert.Equal(t, counters(), again.Rounds[0].Server, "the run's folder has all of them")
}

// Data that a page shows completely is published completely, without indentation and compressed.
func TestPublishedDataIsThatOfTheRun(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	run, reports := stored(t, r, hists), t.TempDir()
	_, err := report.Publish(nil, run, reports)
	require.NoError(t, err)
	measured, err := os.ReadFile(filepath.Join(run, result.ResultFile))
	require.NoError(t, err)
	published, err := result.ReadFile(filepath.Join(reports, "data", "fixture", result.ResultFile))
	require.NoError(t, err)
	assert.JSONEq(t, string(measured), string(published))
	assert.Equal(t, 1, strings.Count(string(published), "\n"), "one line")
	assert.NoFileExists(t, filepath.Join(reports, "data", "fixture", result.ResultFile), "it is stored in the compressed form only")
}

// The profiles that a page names are published with its figures if they exist and are small enough,
// and the page links them.
func TestProfilesArePublished(t *testing.T) {
	r, hists := sweptFixture(t)
	names := []string{"profiles/cpu.pb.gz", "profiles/point-2/mutex.pb.gz", "profiles/block.pb.gz", "profiles/allocs.pb.gz"}
	require.Len(t, r.Profiles, len(names))
	for i, name := range names {
		r.Profiles[i].File = name
	}
	r.Profiles[1].Node = "n3"
	run, reports := stored(t, r, hists), t.TempDir()
	data := filepath.Join(reports, "data", "fixture")
	put := func(folder, name string, size int) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600))
	}
	put(run, names[1], 10)
	put(run, names[3], 5<<20)
	put(data, "profiles/of-before.pb.gz", 1)
	written, err := report.Publish(nil, run, reports)
	require.NoError(t, err)
	page := contents(t, written)["fixture.md"]
	s := sheet(t)
	s.Equal(t, "a kept profile", sections(page)["Where the time went"])
	elsewhere, err := report.Render(nil, data, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, page, contents(t, elsewhere)["fixture.md"], "lint renders the page elsewhere to compare it")
	assert.FileExists(t, filepath.Join(data, names[1]))
	assert.NoFileExists(t, filepath.Join(data, names[0]), "missing in the run")
	assert.NoFileExists(t, filepath.Join(data, names[3]), "larger than the bound")
	assert.NoFileExists(t, filepath.Join(data, "profiles/of-before.pb.gz"))

	r.Profiles[0].File = "../outside.pb.gz"
	_, err = report.Publish(nil, stored(t, r, hists), t.TempDir())
	s.Error(t, "a path outside", err)
}

// A page reports profiles that are not published.
func TestProfilesThatAreNotKept(t *testing.T) {
	r, hists := fixture(t, 1, 1)
	sheet(t).Equal(t, "profiles", sections(rendered(t, r, hists)["fixture.md"])["Where the time went"])
}
