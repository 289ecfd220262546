package soak

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func rowOf(t require.TestingT, w Window) Row {
	row, err := newRow(&w)
	require.NoError(t, err)
	return row
}

// However many windows there are, rows and file are bounded, and each sum and the merged latency
// are those of all windows. Reopening the file gives the same rows.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Rows are merged at 8, 16 and 32 windows, and in the long form at 64.
	windowsMax := longtest.Count(t, 40, 90)
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, rowsFile)
		defer func() { require.NoError(t, os.Remove(path)) }()
		const most = 8
		random := rand.New(rand.NewPCG(3, rapid.Uint64().Draw(t, "seed")))
		windows := rapid.IntRange(1, windowsMax).Draw(t, "windows")
		reopen := rapid.IntRange(1, 30).Draw(t, "reopen")
		r, err := openRows(path, most)
		require.NoError(t, err)
		var all Row
		for number := 1; number <= windows; number++ {
			w := madeWindow(number, random)
			w.Faults, w.Cut = number%7 == 0, number%11 == 0
			row := rowOf(t, w)
			require.NoError(t, r.add(row))
			if number == 1 {
				all = rowOf(t, w)
			} else {
				require.NoError(t, all.add(row))
			}
			if number%reopen == 0 {
				before, width := r.all, r.width
				require.NoError(t, r.close())
				r, err = openRows(path, most)
				require.NoError(t, err)
				require.LessOrEqual(t, r.width, width)
				if r.width == width {
					require.Equal(t, before, r.all)
				}
			}
			require.Less(t, len(r.all), most)
			require.Less(t, r.lines, 2*most)
			for i, row := range r.all[:len(r.all)-1] {
				require.Equal(t, r.width, row.Windows, "row %d", i)
			}
		}
		var sum Row
		for i, row := range r.all {
			if i == 0 {
				sum = row
			} else {
				require.NoError(t, sum.add(row))
			}
		}
		require.NoError(t, r.close())
		require.Equal(t, all.Ledger, sum.Ledger)
		require.Equal(t, all.Windows, sum.Windows)
		require.Equal(t, all.Judged.Cycles, sum.Judged.Cycles)
		require.InDelta(t, all.Judged.Seconds, sum.Judged.Seconds, 1e-6)
		require.InDelta(t, all.p99Ms, sum.p99Ms, 0, "percentiles are those of merged histograms")
		for i, p := range sum.Judged.Processes {
			require.InEpsilon(t, all.Judged.Processes[i].RSSMB, p.RSSMB, 1e-9)
		}
	})
}

// The percentile of two windows is that of their merged latencies, which is not an average of the
// two.
func TestAPercentileIsNeverAnAverage(t *testing.T) {
	t.Parallel()
	window := func(number int, ms int64) Window {
		w := madeWindow(number, rand.New(rand.NewPCG(1, 1)))
		h := result.NewHistograms()
		for _, kind := range h.Kinds() {
			for range 100 {
				require.NoError(t, kind.Histogram.RecordValue(ms*1e6))
			}
		}
		var err error
		w.Histograms, err = h.Encode()
		require.NoError(t, err)
		return w
	}
	row := rowOf(t, window(1, 10))
	require.NoError(t, row.add(rowOf(t, window(2, 50))))
	assert.InEpsilon(t, 50, row.p99Ms, 0.01)
	assert.InDelta(t, row.p99Ms, row.Judged.values(row.p99Ms)[scenario.SoakLatency], 0)
}

func TestCorruptRows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	line := func(number int) string {
		text, err := encodeRow(rowOf(t, madeWindow(number, random)))
		require.NoError(t, err)
		return string(text)
	}
	texts := golden.Cases(t, "testdata/rows.golden")
	for name, text := range map[string]string{
		"a line in the middle": line(1) + "{\"first\":2,\n" + line(3),
		"the same window":      line(1) + line(1),
		"no windows":           "{}\n" + line(1),
		"a histogram":          `{"first":1,"last":1,"windows":1,"judged":{"windows":1,"latency":"x"}}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), rowsFile)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := openRows(path, rowsMax)
		texts.Replace(path, "ROWS")
		texts.Error(t, name, err)
	}
}

// Events and samples of a row are bounded, and omitted ones are counted.
func TestEventsOfARowAreBounded(t *testing.T) {
	t.Parallel()
	w := madeWindow(1, rand.New(rand.NewPCG(1, 1)))
	for range 3 {
		w.Events = append(w.Events, "x")
	}
	row := rowOf(t, w)
	w.Number = 2
	require.NoError(t, row.add(rowOf(t, w)))
	assert.Len(t, row.Events, rowEventsMax)
	assert.Equal(t, 2, row.EventsOmitted)
	assert.Equal(t, 2, row.Events[rowEventsMax-1].Window, "the latest events are stored")
	text, err := json.Marshal(row)
	require.NoError(t, err)
	assert.Less(t, len(text), 4000)
}
