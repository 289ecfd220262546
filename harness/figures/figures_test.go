package figures

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func read(t require.TestingT, text string) []Figure {
	all, err := Read(strings.NewReader(text))
	require.NoError(t, err)
	return all
}

func TestReadK6(t *testing.T) {
	exported := read(t, `{"root_group": {"name": ""}, "metrics": {
		"http_reqs": {"count": 1200, "rate": 40},
		"http_req_duration": {"avg": 1.5, "p(95)": 4.25, "thresholds": {"p(95)<10": false}},
		"checks": {"value": 1, "passes": 1200, "fails": 0}}}`)
	assert.Equal(t, []Figure{
		{"k6", 1, "checks.fails", "", 0},
		{"k6", 1, "checks.passes", "", 1200},
		{"k6", 1, "checks.value", "", 1},
		{"k6", 1, "http_req_duration.avg", "", 1.5},
		{"k6", 1, "http_req_duration.p(95)", "", 4.25},
		{"k6", 1, "http_reqs.count", "", 1200},
		{"k6", 1, "http_reqs.rate", "", 40},
	}, exported)

	handed := read(t, `{"metrics": {
		"http_req_duration": {"type": "trend", "contains": "time", "values": {"med": 1.25}, "thresholds": {"med<2": {"ok": true}}},
		"data_sent": {"type": "counter", "contains": "data", "values": {"count": 4096, "rate": 128}}}}`)
	assert.Equal(t, []Figure{
		{"k6", 1, "data_sent.count", "", 4096},
		{"k6", 1, "data_sent.rate", "B/s", 128},
		{"k6", 1, "http_req_duration.med", "ms", 1.25},
	}, handed)
}

// A statistic without a sample is null, which is not a figure and must not become 0.
func TestReadK6WithoutSamples(t *testing.T) {
	assert.Equal(t, []Figure{{"k6", 1, "http_req_duration.count", "", 0}},
		read(t, `{"metrics": {"http_req_duration": {"values": {"p(95)": null, "count": 0}}}}`))
	_, err := Read(strings.NewReader(`{"metrics": {"http_req_duration": {"p(95)": null}}}`))
	assert.ErrorContains(t, err, "the file has no figures")
}

func TestReadBench(t *testing.T) {
	assert.Equal(t, []Figure{
		{"FullCycle/shards=1", 1, "sec/op", "", 0.0025},
		{"FullCycle/shards=1", 1, "cycles/s", "", 400},
		{"FullCycle/shards=1", 2, "sec/op", "", 0.002},
	}, read(t, "goos: linux\nBenchmarkFullCycle/shards=1 4 2500000 ns/op 400 cycles/s\nBenchmarkFullCycle/shards=1 5 2000000 ns/op\n"))
}

// Reading the CSV of a run skips the figures that must not be mixed with the others.
func TestReadTheCSVOfARun(t *testing.T) {
	assert.Equal(t, []Figure{
		{"rest/shards=2", 1, "cycles_per_s", "1/s", 12.5},
		{"rest/shards=2", 2, "cycles_per_s", "1/s", 13},
	}, read(t, `run,scenario,point,round,kind,verdict,window_s,metric,unit,value
r,rest,shards=2,1,calibration,pass,10,cycles_per_s,1/s,99
r,rest,shards=2,2,timed,pass,10,cycles_per_s,1/s,12.5
r,rest,shards=2,3,timed,invalid,10,cycles_per_s,1/s,1
r,rest,shards=2,4,timed,regressed,10,cycles_per_s,1/s,13
`))
}

func TestWhatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":          {"", "the file has no figures"},
		"prose":          {"hello\n", "the file has no figures"},
		"bad JSON":       {`{"metrics": `, "summary of k6: unexpected end"},
		"other JSON":     {`{"verdict": "pass"}`, `has no "metrics"`},
		"a cell short":   {"name,metric,value\na,b\n", "CSV: record on line 2"},
		"no number":      {"name,metric,value\na,b,fast\n", `row 2: value: "fast" is not a number`},
		"no name":        {"metric,value\nb,1\n", "row 2 has no name"},
		"infinite":       {"name,metric,value\na,b,+Inf\n", "b of a is +Inf: a figure must be finite"},
		"a benchmark":    {"BenchmarkX 1 fast ns/op\n", "Go's benchmark format"},
		"over the bound": {strings.Repeat(" ", BytesMax+1), "larger than 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestWriteK6(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, WriteK6(&out, []Figure{{"k6", 1, "d.p(95)", "ms", 4}, {"k6", 1, "d.avg", "ms", 2}, {"k6", 1, "cycles/s", "", 9}}))
	assert.JSONEq(t, `{"metrics": {"d": {"p(95)": 4, "avg": 2}, "cycles/s": {"value": 9}}}`, out.String())
	assert.ErrorContains(t, WriteK6(&out, []Figure{{"a", 1, "m", "", 1}, {"b", 1, "m", "", 1}}), "the figures have several names (a, b)")
	assert.ErrorContains(t, WriteK6(&out, []Figure{{"a", 1, "m", "", 1}, {"a", 2, "m", "", 1}}), "several rounds")
}

// Figures survive each format that can represent them: CSV unchanged, Go's format with the unit in
// the metric's name.
func TestFormatsKeepFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Figure
		rounds := rapid.IntRange(1, 3).Draw(t, "rounds")
		// benchfmt converts figures in ns to seconds.
		metric := rapid.StringMatching(`[a-z]{1,8}(\.p\(9[0-9]\))?`).Filter(func(m string) bool { return m != "ns" })
		metrics := rapid.SliceOfNDistinct(metric, 1, 4, rapid.ID[string]).Draw(t, "metrics")
		for round := 1; round <= rounds; round++ {
			for _, metric := range metrics {
				value := rapid.Float64Range(-1e12, 1e12).Draw(t, "value")
				all = append(all, Figure{Name: "Load/x=1", Round: round, Metric: metric + "-q", Value: value})
			}
		}
		for _, write := range []func(*bytes.Buffer) error{
			func(b *bytes.Buffer) error { return WriteCSV(b, all) },
			func(b *bytes.Buffer) error { return WriteBench(b, all) },
		} {
			var text bytes.Buffer
			require.NoError(t, write(&text))
			assert.Equal(t, all, read(t, text.String()), text.String())
		}
	})
}
