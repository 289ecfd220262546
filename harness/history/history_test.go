package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

var begin = time.Date(2026, 11, 21, 17, 15, 0, 0, time.UTC)

// record returns the nth record of a series with the given rate.
func record(n int, rate float64) history.Record {
	return history.Record{
		Version: history.Version, Scenario: "full-cycle", Run: fmt.Sprintf("run-%d", n), Measured: begin.Add(time.Duration(n) * time.Hour),
		Commit: fmt.Sprintf("%040x", n+1), Committed: begin.Add(time.Duration(n)*time.Hour - time.Minute),
		HostClass: "2-cpus-amd64-virtual-ext4", CPUModel: "AMD EPYC", Durability: "sync", Settings: "0123456789ab", Rounds: 7, Verdict: result.Pass,
		Metrics: map[string]history.Figure{
			result.CyclesPerS: {Median: rate, Low: 0.9 * rate, High: 1.1 * rate}, result.ServerCPUUsPerCycle: {Median: 4, Low: 3, High: 5},
		},
		References: map[string]history.Reference{"echo": {PerS: history.Figure{Median: 50_000, Low: 40_000, High: 60_000}, CPUUs: history.Figure{Median: 2, Low: 1, High: 3}}},
	}
}

const line = `{"version":1,"scenario":"full-cycle","run":"run-0","measured":"2026-11-21T17:15:00Z","commit":"0000000000000000000000000000000000000001",` +
	`"committed":"2026-11-21T17:14:00Z","host_class":"2-cpus-amd64-virtual-ext4","cpu_model":"AMD EPYC","durability":"sync","settings":"0123456789ab",` +
	`"rounds":7,"verdict":"pass","metrics":{"cycles_per_s":[123460,111110,135800],"server_cpu_us_per_cycle":[4,3,5]},` +
	`"references":{"echo":{"per_s":[50000,40000,60000],"cpu_us":[2,1,3]}}}` + "\n"

func TestARecordIsOneLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	require.NoError(t, history.Append(dir, record(0, 123_456)))
	text, err := os.ReadFile(filepath.Join(dir, "full-cycle.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, line, string(text), "with five significant digits")
	read, err := history.ReadAll(dir)
	require.NoError(t, err)
	want := record(0, 123_456)
	want.Metrics[result.CyclesPerS] = history.Figure{Median: 123_460, Low: 111_110, High: 135_800}
	assert.Equal(t, []history.Record{want}, read)
}

// Lines are sorted by time for any order of appends, and a line keeps its bytes.
func TestAppendKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		path := history.File(dir, "full-cycle")
		var before []string
		for _, n := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}).Draw(rt, "order") {
			require.NoError(rt, history.Append(dir, record(n, 1000+float64(n))))
			text, err := os.ReadFile(path)
			require.NoError(rt, err)
			for _, line := range before {
				require.Contains(rt, string(text), line)
			}
			before = strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
			again := history.Append(dir, record(n, 7))
			require.ErrorIs(rt, again, history.ErrRecorded)
			same, err := os.ReadFile(path)
			require.NoError(rt, err)
			require.Equal(rt, string(text), string(same), "a refused record changes nothing")
		}
		all, err := history.Read(path)
		require.NoError(rt, err)
		require.Len(rt, all, 6)
		for n, r := range all {
			require.Equal(rt, fmt.Sprintf("run-%d", n), r.Run)
		}
	})
}

func TestAppendTakesAllRecordsOfARunOrNone(t *testing.T) {
	dir := t.TempDir()
	first, last := record(0, 1000), record(0, 2000)
	first.Point, last.Point = "shards=1", "shards=8"
	wrong := last
	wrong.Settings = "none"
	s := golden.Cases(t, "testdata/append.golden")
	s.Replace(dir, "FOLDER")
	s.Error(t, "a wrong record", history.Append(dir, first, wrong))
	assert.NoFileExists(t, history.File(dir, "full-cycle"))
	require.NoError(t, history.Append(dir, first, last))
	all, err := history.ReadAll(dir)
	require.NoError(t, err)
	assert.Equal(t, []history.Record{first, last}, all)
	require.NoError(t, history.Append(dir))

	long := record(1, 1000)
	long.Point = strings.Repeat("x", history.LineMax)
	s.Error(t, "a long record", history.Append(dir, long))
}

func TestReadRefuses(t *testing.T) {
	sound := strings.TrimSuffix(line, "\n")
	with := func(was, now string) string {
		require.Contains(t, sound, was)
		return strings.Replace(sound, was, now, 1)
	}
	later := strings.NewReplacer("run-0", "run-1", "2026-11-21T17:15:00Z", "2026-11-21T17:16:00Z").Replace(sound)
	s := golden.Cases(t, "testdata/refused.golden")
	for name, text := range map[string]string{
		"another version":      with(`"version":1`, `"version":2`),
		"no version":           with(`"version":1,`, ``),
		"no object":            later + "\nhello",
		"an empty line":        sound + "\n\n",
		"an unknown field":     with(`"rounds"`, `"round"`),
		"two in a line":        sound + sound,
		"an unknown metric":    with(`"cycles_per_s"`, `"cycles"`),
		"an unknown reference": with(`"echo"`, `"noise"`),
		"half a figure":        with(`[4,3,5]`, `[4,3]`),
		"a wrong commit":       with(`"commit":"0`, `"commit":"x`),
		"no scenario":          with(`"scenario":"full-cycle"`, `"scenario":""`),
		"another scenario":     with(`"scenario":"full-cycle"`, `"scenario":"rest"`),
		"an unknown verdict":   with(`"pass"`, `"fine"`),
		"no figures":           with(`{"cycles_per_s":[123460,111110,135800],"server_cpu_us_per_cycle":[4,3,5]}`, `{}`),
		"figures of no rate":   with(`"pass"`, `"incorrect"`),
		"no rounds":            with(`"rounds":7`, `"rounds":0`),
		"no time":              with(`"2026-11-21T17:15:00Z"`, `"0001-01-01T00:00:00Z"`),
		"a record twice":       sound + "\n" + sound,
		"out of order":         later + "\n" + sound,
		"a long line":          with(`"AMD EPYC"`, `"`+strings.Repeat("x", history.LineMax)+`"`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := history.File(dir, "full-cycle")
			require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
			all, err := history.ReadAll(dir)
			require.ErrorContains(t, err, path)
			s.Equal(t, name, strings.ReplaceAll(err.Error(), dir, "FOLDER"))
			assert.Nil(t, all)
			require.Error(t, history.Append(dir, record(9, 1)), "an unreadable file must not be extended")
		})
	}
	_, err := history.ReadAll(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestGroupJoinsWhatDiffersInTheCommitAlone(t *testing.T) {
	records := []history.Record{record(2, 3), record(0, 1), record(1, 2)}
	records[2].Committed = time.Time{} // placed by the time of its measurement
	late := record(5, 0)               // the oldest commit, measured last
	late.Committed = begin.Add(-time.Hour)
	records = append(records, late)
	for i, change := range []func(*history.Record){
		func(r *history.Record) { r.HostClass = "8-cpus-amd64-metal-xfs" },
		func(r *history.Record) { r.CPUModel = "Intel" },
		func(r *history.Record) { r.Settings = "ba9876543210" },
		func(r *history.Record) { r.Durability = "none" },
		func(r *history.Record) { r.Point = "shards=2" },
		func(r *history.Record) { r.Scenario = "rest" },
	} {
		other := record(10+i, 9)
		change(&other)
		records = append(records, other)
	}
	all := history.Group(records)
	require.Len(t, all, 7)
	var rates []float64
	for _, r := range all[0].Records {
		rates = append(rates, r.Metrics[result.CyclesPerS].Median)
	}
	assert.Equal(t, []float64{0, 1, 2, 3}, rates, "sorted by commit")
	for i, j := 0, len(records)-1; i < j; i, j = i+1, j-1 {
		records[i], records[j] = records[j], records[i]
	}
	assert.Equal(t, all, history.Group(records), "the order of the records must not matter")
}

// series returns a series of records with the given rates.
func series(t *testing.T, rates ...float64) history.Series {
	t.Helper()
	var records []history.Record
	for n, rate := range rates {
		records = append(records, record(n, rate))
	}
	all := history.Group(records)
	require.Len(t, all, 1)
	return all[0]
}

func TestTrackFindsTheCommitsOfAChange(t *testing.T) {
	s := series(t, 1000, 1010, 990, 1005, 1000, 995, 1002, 900, 905, 895, 900, 902, 899)
	track, err := s.Track(result.CyclesPerS, "")
	require.NoError(t, err)
	require.Len(t, track.Changes, 1)
	c := track.Changes[0]
	assert.Equal(t, 7, c.At)
	assert.Equal(t, s.Records[6].Commit, c.After)
	assert.Equal(t, s.Records[7].Commit, c.Until)
	assert.InDelta(t, 0.9, *c.Ratio, 0.001)
	assert.InDelta(t, 1000, c.Before.Median, 0)
	assert.Equal(t, 6, c.Now.N)
	assert.False(t, c.SpreadAlone)
	assert.False(t, track.TooFew)
	assert.Equal(t, "1/s", track.Unit)

	cpu, err := s.Track(result.ServerCPUUsPerCycle, "")
	require.NoError(t, err)
	assert.Empty(t, cpu.Changes)
	few, err := series(t, 1, 2, 3).Track(result.CyclesPerS, "")
	require.NoError(t, err)
	assert.True(t, few.TooFew)
	none, err := s.Track(result.RaftEntriesPerCycle, "")
	require.NoError(t, err)
	assert.Empty(t, none.Samples)
	assert.Nil(t, none.Drift)
}

// A series lists its records that do not pass. Tracks include regressed runs; incorrect runs have
// no figures.
func TestASeriesSaysWhatDoesNotPass(t *testing.T) {
	worse, wrong := record(1, 50), record(2, 0)
	worse.Verdict = result.Regressed
	wrong.Verdict, wrong.Metrics, wrong.References = result.Incorrect, map[string]history.Figure{}, nil
	tracked, err := history.TrackAll(history.Group([]history.Record{record(0, 100), worse, wrong}))
	require.NoError(t, err)
	require.Len(t, tracked, 1)
	assert.Equal(t, []history.Judged{
		{Commit: worse.Commit, Measured: worse.Measured, Run: "run-1", Verdict: result.Regressed},
		{Commit: wrong.Commit, Measured: wrong.Measured, Run: "run-2", Verdict: result.Incorrect},
	}, tracked[0].NotPass)
	assert.Equal(t, 3, tracked[0].Records)
	require.Len(t, tracked[0].Tracks[0].Samples, 2)
	assert.InDelta(t, 50, tracked[0].Tracks[0].Samples[1].Median, 0)

	tracked, err = history.TrackAll(history.Group([]history.Record{wrong}))
	require.NoError(t, err)
	assert.Empty(t, tracked[0].Tracks)
}

func TestATrackIsBounded(t *testing.T) {
	rates := make([]float64, stat.ChangeMaxN+3)
	for i := range rates {
		rates[i] = 5
	}
	track, err := series(t, rates...).Track(result.CyclesPerS, "")
	require.NoError(t, err)
	assert.Len(t, track.Samples, stat.ChangeMaxN)
	assert.Equal(t, 3, track.Older)
	assert.Equal(t, "run-3", track.Samples[0].Run)
}

// A host that is a fifth slower overall does not change the ratio to its reference.
func TestATrackAsARatioToTheReference(t *testing.T) {
	s := series(t, 1000, 800)
	of := s.Records[1].References["echo"]
	of.PerS = history.Figure{Median: 40_000, Low: 32_000, High: 48_000}
	s.Records[1].References = map[string]history.Reference{"echo": of}
	tracked, err := history.TrackAll([]history.Series{s})
	require.NoError(t, err)
	require.Len(t, tracked, 1)
	assert.Equal(t, 2, tracked[0].Records)
	var names []string
	for _, track := range tracked[0].Tracks {
		names = append(names, track.Metric+" "+track.RelativeTo)
	}
	assert.Equal(t, []string{"cycles_per_s ", "cycles_per_s echo", "server_cpu_us_per_cycle "}, names, "no record has the reference for CPU time")
	ratio := tracked[0].Tracks[1]
	assert.InDelta(t, 0.02, ratio.Samples[0].Median, 1e-12)
	assert.InDelta(t, 900.0/60_000, ratio.Samples[0].Low, 1e-12)
	assert.InDelta(t, 1100.0/40_000, ratio.Samples[0].High, 1e-12)
	assert.InDelta(t, 1, *ratio.Drift.Ratio, 1e-9)
	assert.InDelta(t, 0.8, *tracked[0].Tracks[0].Drift.Ratio, 1e-9)

	delete(s.Records[0].References, "echo")
	one, err := s.Track(result.CyclesPerS, "echo")
	require.NoError(t, err)
	assert.Len(t, one.Samples, 1, "a record without the reference has no ratio")
}

// The bare data path takes precedence over other references, but only for cycles and the CPU time
// of the same side.
func TestTheBareDataPathIsTheReferenceOfASeries(t *testing.T) {
	s := series(t, 1000, 800)
	figure := func(v float64) history.Figure { return history.Figure{Median: v, Low: v, High: v} }
	server, client := figure(2), figure(1)
	s.Records[1].References["bare"] = history.Reference{PerS: figure(1600), CPUUs: figure(3), ServerCPUUs: &server, ClientCPUUs: &client}
	tracked, err := history.TrackAll([]history.Series{s})
	require.NoError(t, err)
	got := map[string]float64{}
	for _, track := range tracked[0].Tracks {
		if track.RelativeTo != "" {
			got[track.Metric+" "+track.RelativeTo] = track.Samples[len(track.Samples)-1].Median
			assert.Len(t, track.Samples, 1, "the other record lacks the reference")
		}
	}
	cpu := s.Records[1].Metrics[result.ServerCPUUsPerCycle].Median
	assert.Equal(t, map[string]float64{"cycles_per_s bare": 0.5, "server_cpu_us_per_cycle bare": cpu / 2}, got)
}

func TestDriftIsSinceTheLastTag(t *testing.T) {
	s := series(t, 1000, 1100, 1200, 1500)
	drift := func(tags ...string) *history.Drift {
		t.Helper()
		for i, tag := range tags {
			s.Records[i].Tag = tag
		}
		track, err := s.Track(result.CyclesPerS, "")
		require.NoError(t, err)
		return track.Drift
	}
	d := drift("", "", "", "")
	assert.Empty(t, d.Tag)
	assert.InDelta(t, 1.5, *d.Ratio, 1e-9)
	assert.True(t, d.Apart)
	d = drift("", "v1", "v1", "v1")
	assert.Equal(t, "v1", d.Tag)
	assert.InDelta(t, 1100, d.From.Median, 0)
	d = drift("", "v1", "v1", "v2")
	assert.Equal(t, "v1", d.Tag, "v2 has only the newest sample")
	d = drift("", "v1", "v2", "v2")
	assert.Equal(t, "v2", d.Tag)
	assert.InDelta(t, 1.25, *d.Ratio, 1e-9)
	s.Records[2].Metrics[result.CyclesPerS] = history.Figure{}
	assert.Nil(t, drift("", "v1", "v2", "v2").Ratio, "there is no ratio to 0")
}
