package result_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"github.com/pronybench/prony/harness/result"
)

func bench(t *testing.T, r *result.Result) ([]*benchfmt.Result, benchfmt.UnitMetadataMap) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, result.WriteBench(&out, r))
	reader := benchfmt.NewReader(&out, "bench.txt")
	var lines []*benchfmt.Result
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			lines = append(lines, record.Clone())
		case *benchfmt.SyntaxError:
			require.NoError(t, record)
		}
	}
	require.NoError(t, reader.Err())
	return lines, reader.Units()
}

func value(t *testing.T, line *benchfmt.Result, unit string) float64 {
	t.Helper()
	v, found := line.Value(unit)
	require.True(t, found, unit)
	return v
}

func TestBenchIsReadBack(t *testing.T) {
	r, _ := sampleResult(t)
	r.Manifest.Host.CPUModel = "Sample  CPU\n2.0 GHz"
	lines, units := bench(t, r)
	require.Len(t, lines, 7, "one line for each timed round, none for the profiled one")
	first := lines[0]
	assert.Equal(t, "FullCycle/durability=none", first.Name.String())
	assert.Equal(t, int(r.Rounds[0].Cycles), first.Iters)
	assert.InEpsilon(t, 1/101_000.0, value(t, first, "sec/op"), 1e-9)
	assert.Equal(t, 101_000.0, value(t, first, "cycles/s"))
	assert.Equal(t, 9.1, value(t, first, "server-cpu-us/cycle"))
	assert.Equal(t, 5.0, value(t, first, "client-cpu-us/cycle"))
	assert.Equal(t, 200e6, value(t, first, "server-rss-B"), "benchstat reads MB as 10^6 bytes")
	assert.Equal(t, r.Rounds[0].Metrics["cycle_latency_ms_p99"], value(t, first, "cycle-p99-ms"))
	for key, want := range map[string]string{
		"goos": "linux", "goarch": "amd64", "cpu": "Sample CPU 2.0 GHz", "scenario": "full-cycle", "durability": "none",
	} {
		assert.Equal(t, want, first.GetConfig(key), key)
	}
	assert.Equal(t, "higher", units.Get("cycles/s", "better").Value)
	assert.Equal(t, "lower", units.Get("cpu-us/cycle", "better").Value)
	assert.Equal(t, "lower", units.Get("server-rss-MB", "better").Value)
}

// Two commits on one host are in the same table of benchstat, which groups by configuration.
func TestBenchOfTwoCommitsIsComparable(t *testing.T) {
	var parser benchproc.ProjectionParser
	table, err := parser.Parse(".config", nil)
	require.NoError(t, err)
	r, _ := sampleResult(t)
	before, _ := bench(t, r)
	r.Manifest.Build.Commit, r.Run = "89abcdef", "another"
	after, _ := bench(t, r)
	assert.Equal(t, table.Project(before[0]), table.Project(after[0]))

	var out bytes.Buffer
	require.NoError(t, result.WriteBench(&out, r))
	assert.Contains(t, out.String(), "# commit: 89abcdef (dirty)\n", "the comment shows the commit")
}

func TestBenchHasNoFigureThatIsNotSound(t *testing.T) {
	r, _ := sampleResult(t)
	r.Rounds[0].Verdict = result.Invalid
	r.Rounds[1].Cycles = 0
	lines, _ := bench(t, r)
	assert.Len(t, lines, 5)
	r.Verdict = result.Incorrect
	lines, _ = bench(t, r)
	assert.Empty(t, lines)
	r.Rounds = nil
	r.Verdict = result.Pass
	lines, _ = bench(t, r)
	assert.Empty(t, lines)
}

// A round without cycles has a line if it has enqueues.
func TestBenchOfEnqueues(t *testing.T) {
	r, _ := sampleResult(t)
	for i := range r.Rounds {
		r.Rounds[i].Cycles, r.Rounds[i].Enqueues = 0, 7
		r.Rounds[i].Metrics = map[string]float64{result.EnqueuesPerS: 5000}
	}
	lines, units := bench(t, r)
	require.Len(t, lines, 7)
	assert.Equal(t, 5000.0, value(t, lines[0], "enqueues/s"))
	assert.Equal(t, "higher", units.Get("enqueues/s", "better").Value)
	_, found := lines[0].Value("sec/op")
	assert.False(t, found)
}

func TestManifestOfNothing(t *testing.T) {
	assert.Equal(t, "unknown", result.Manifest{}.Durability())
	assert.Equal(t, "unknown", result.Build{}.Revision())
}
