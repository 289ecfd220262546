package result_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func store(t *testing.T, r *result.Result, hists []result.RoundHistograms) *result.Folder {
	t.Helper()
	f, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	require.NoError(t, f.Store(r, hists))
	return f
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestNewID(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	assert.Equal(t, "20261121T161500.123Z-smoke", result.NewID(time.Date(2026, 11, 21, 17, 15, 0, 123_999_999, zone), "smoke"))
	assert.True(t, strings.HasSuffix(result.NewID(sampleStart, "../Full Cycle/ü"), "Z-full-cycle"))
	assert.True(t, strings.HasSuffix(result.NewID(sampleStart, "…"), "Z-unnamed"))
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(0, 4e12).Draw(t, "a")
		b := rapid.Int64Range(0, 4e12).Draw(t, "b")
		ida, idb := result.NewID(time.UnixMilli(a), "x"), result.NewID(time.UnixMilli(b), "x")
		require.Equal(t, a < b, ida < idb, "%s %s", ida, idb)
	})
}

func TestCreateRefuses(t *testing.T) {
	out := t.TempDir()
	for _, id := range []string{"", ".", "..", "latest", "a/b", `a\b`} {
		_, err := result.Create(out, id)
		require.Error(t, err, "%q", id)
	}
	_, err := result.Create(filepath.Join(out, "deep", "runs"), "id")
	require.NoError(t, err)
	_, err = result.Create(filepath.Join(out, "deep", "runs"), "id")
	require.ErrorIs(t, err, os.ErrExist, "a run must not write into the folder of another run")
}

func TestStoreAndReadAgain(t *testing.T) {
	r, hists := sampleResult(t)
	f := store(t, r, hists)
	assert.Equal(t, []string{"bench.txt", "histograms.json", "manifest.json", "result.json", "rounds.json"}, files(t, f.Path()),
		"and no temporary files")

	got, gotHists, err := result.Read(f.Path())
	require.NoError(t, err)
	want, err := json.Marshal(r)
	require.NoError(t, err)
	have, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(have))
	require.Len(t, gotHists, len(hists))
	for i, h := range hists {
		assert.Equal(t, h.Round, gotHists[i].Round)
		for k, kind := range h.Kinds() {
			assert.True(t, kind.Histogram.Equals(gotHists[i].Kinds()[k].Histogram), "round %d %s", h.Round, kind.Name)
		}
	}

	info, err := os.Stat(f.File(result.ResultFile))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}

func TestLatestFollowsTheLastStored(t *testing.T) {
	out := t.TempDir()
	link := filepath.Join(out, "latest")
	r, hists := sampleResult(t)
	for _, scenario := range []string{"one", "two"} {
		r.Run = result.NewID(sampleStart, scenario)
		f, err := result.Create(out, r.Run)
		require.NoError(t, err)
		require.NoError(t, f.Store(r, hists))
		target, err := os.Readlink(link)
		require.NoError(t, err)
		assert.Equal(t, r.Run, target, "relative, so that the folder can move")
	}
	assert.Len(t, files(t, out), 3, "no temporary files")

	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Mkdir(link, 0o755))
	r.Run = "three"
	f, err := result.Create(out, r.Run)
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/latestlink.golden")
	s.Replace(out, "RUNS")
	s.Error(t, "a folder", f.Store(r, hists))
	assert.Len(t, files(t, out), 4)
}

func TestRoundsAreKeptWhenARunEndsEarly(t *testing.T) {
	r, _ := sampleResult(t)
	f, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	require.NoError(t, f.WriteManifest(r.Manifest))
	require.NoError(t, f.WriteRounds(result.RoundsDocument{Rounds: r.Rounds[:2]}))
	data, err := os.ReadFile(f.File(result.RoundsFile))
	require.NoError(t, err)
	var doc struct{ Rounds []result.Round }
	require.NoError(t, json.Unmarshal(data, &doc))
	assert.Equal(t, r.Rounds[:2], doc.Rounds)
	_, _, err = result.Read(f.Path())
	s := golden.Cases(t, "testdata/endedearly.golden")
	s.Replace(f.Path(), "RUN")
	s.Error(t, "no result", err)
}

func TestStoreRefusesWhatIsNotFinite(t *testing.T) {
	for name, spoil := range map[string]func(r *result.Result, v float64){
		"metrics.cycles_per_s.high": func(r *result.Result, v float64) {
			m := r.Metrics["cycles_per_s"]
			m.High = v
			r.Metrics["cycles_per_s"] = m
		},
		"rounds[1].metrics.lost":     func(r *result.Result, v float64) { r.Rounds[1].Metrics["lost"] = v },
		"rounds[0].server.commits":   func(r *result.Result, v float64) { r.Rounds[0].Server = map[string]float64{"commits": v} },
		"rounds[0].window_seconds":   func(r *result.Result, v float64) { r.Rounds[0].WindowSeconds = v },
		"manifest.host.fsync_ms_p50": func(r *result.Result, v float64) { r.Manifest.Host.FsyncMsP50 = v },
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range infinite {
				r, hists := sampleResult(t)
				spoil(r, v)
				f, err := result.Create(t.TempDir(), r.Run)
				require.NoError(t, err)
				require.ErrorContains(t, f.Store(r, hists), name)
				assert.Empty(t, files(t, f.Path()), "nothing is written")
			}
		})
	}
}

// A measurement is stored even if a number that explains it is not finite.
func TestStoreLeavesOutExplanationsThatAreNotFinite(t *testing.T) {
	for says, spoil := range map[string]func(r *result.Result, v float64){
		"profiles[0].total":      func(r *result.Result, v float64) { r.Profiles[0].Total = v },
		"profiles[0].top[0].cum": func(r *result.Result, v float64) { r.Profiles[0].Top[0].Cum = v },
		"causes[1].score": func(r *result.Result, v float64) {
			r.Causes = []result.Cause{{Kind: "cpu", Name: "a", Score: 1}, {Kind: "stage", Name: "apply", Score: v}}
		},
		"locks[0].share": func(r *result.Result, v float64) { r.Locks = []result.Lock{{Name: "mu", Share: v}} },
	} {
		t.Run(says, func(t *testing.T) {
			for _, v := range infinite {
				r, hists := sampleResult(t)
				spoil(r, v)
				f, err := result.Create(t.TempDir(), r.Run)
				require.NoError(t, err)
				require.NoError(t, f.Store(r, hists))
				stored, _, err := result.Read(f.Path())
				require.NoError(t, err)
				assert.Equal(t, r.Metrics, stored.Metrics)
				require.NotEmpty(t, stored.Warnings)
				assert.Contains(t, stored.Warnings[len(stored.Warnings)-1], "an explanation was dropped: "+says)
			}
		})
	}
	c := &result.Comparison{Version: result.Version, Verdict: result.Regressed, Causes: []result.Cause{{Kind: "cpu", Name: "a", Score: math.Inf(1)}, {Kind: "cpu", Name: "b", Score: 2}}}
	dir := t.TempDir()
	require.NoError(t, result.WriteComparison(dir, c))
	stored, err := result.ReadComparison(dir)
	require.NoError(t, err)
	assert.Equal(t, []result.Cause{{Kind: "cpu", Name: "b", Score: 2}}, stored.Causes)
}

func TestStoreRefusesAnInconsistentResult(t *testing.T) {
	s := golden.Cases(t, "testdata/inconsistent.golden")
	for name, spoil := range map[string]func(r *result.Result, hists []result.RoundHistograms){
		"another run":         func(r *result.Result, _ []result.RoundHistograms) { r.Run = "other" },
		"no version":          func(r *result.Result, _ []result.RoundHistograms) { r.Version = 0 },
		"no verdict":          func(r *result.Result, _ []result.RoundHistograms) { r.Verdict = "" },
		"a round twice":       func(r *result.Result, _ []result.RoundHistograms) { r.Rounds[1].Number = 1 },
		"histograms twice":    func(_ *result.Result, h []result.RoundHistograms) { h[1].Round = 1 },
		"histograms alone":    func(_ *result.Result, h []result.RoundHistograms) { h[1].Round = 77 },
		"a missing histogram": func(_ *result.Result, h []result.RoundHistograms) { h[1].Cycle = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r, hists := sampleResult(t)
			f, err := result.Create(t.TempDir(), r.Run)
			require.NoError(t, err)
			spoil(r, hists)
			s.Replace(f.Path(), "FOLDER")
			s.Error(t, name, f.Store(r, hists))
		})
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	replace := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Contains(t, string(data), old)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(string(data), old, new, 1)), 0o600))
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, name))) }
	}
	s := golden.Cases(t, "testdata/unreadable.golden")
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string)
	}{
		"no result":        {remove("result.json")},
		"no histograms":    {remove("histograms.json")},
		"newer":            {replace("result.json", `"version": 4`, `"version": 5`)},
		"older":            {replace("result.json", `"version": 4`, `"version": 3`)},
		"older histograms": {replace("histograms.json", `"version": 4`, `"version": 1`)},
		"newer histograms": {replace("histograms.json", `"version": 4`, `"version": 9`)},
		"no version":       {replace("result.json", `"version": 4`, `"vision": 1`)},
		"cut off":          {replace("result.json", `"metrics"`, `"metr`)},
		"wrong type":       {replace("result.json", `"rounds": [`, `"rounds": 7, "x": [`)},
		"two documents":    {replace("result.json", `{`, `{} {`)},
		"no verdict":       {replace("result.json", `"verdict": "pass"`, `"verdict": "splendid"`)},
		"other unit":       {replace("histograms.json", `"ns"`, `"us"`)},
		"bad base64":       {replace("histograms.json", `"enqueue": "`, `"enqueue": "!`)},
		"bad encoding":     {replace("histograms.json", `"cycle": "`, `"cycle": "AAAA`)},
		"other round":      {replace("histograms.json", `"round": 3`, `"round": 33`)},
	} {
		t.Run(name, func(t *testing.T) {
			r, hists := sampleResult(t)
			f := store(t, r, hists)
			s.Replace(f.Path(), "FOLDER")
			test.spoil(t, f.Path())
			got, gotHists, err := result.Read(f.Path())
			require.Error(t, err)
			assert.Nil(t, got)
			assert.Nil(t, gotHists)
			s.Error(t, name, err)
		})
	}
}

func TestWriteFileLeavesTheOldContentOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, result.WriteFile(path, []byte("old")))
	require.NoError(t, result.WriteFile(path, []byte("new")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(data))
	require.Error(t, result.WriteFile(filepath.Join(dir, "none", "file"), nil))

	folder := filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.Error(t, result.WriteFile(folder, []byte("x")), "the path is a folder")
	assert.ElementsMatch(t, []string{"file", "folder"}, files(t, dir), "the temporary file must be removed")
}
