package render

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", 12.345: "12.3", 123.456: "123", 999.4: "999", 999.6: "1,000", 9.996: "10.0", 182345.6: "182,000",
		1234567: "1,230,000", 0.01234: "0.0123", 0.1: "0.100", -1234: "-1,230", -123: "-123", -0.5: "-0.500", 0.0001234: "1.23e-04",
		1.5e15: "1.50e+15", math.Inf(1): "not a number",
	} {
		assert.Equal(t, want, Number(v), "%v", v)
	}
	assert.Equal(t, "not a number", Number(math.NaN()))
}

func TestNumberKeepsThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e16, 1e16).Draw(t, "v")
		back, err := strconv.ParseFloat(strings.ReplaceAll(Number(v), ",", ""), 64)
		require.NoError(t, err)
		require.InDelta(t, v, back, math.Abs(v)*0.0051)
	})
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		n    int
		want string
	}{
		{5912, 4, "5,912"},
		{181234.4, 4, "181,234"},
		{12.345, 4, "12.35"},
		{0.15, 4, "0.15"},
		{10, 3, "10"},
		{1.5, 3, "1.5"},
		{8192, 3, "8,192"},
		{1e-5, 3, "1e-05"},
		{0.0005, 3, "0.0005"},
		{999.96, 4, "1,000"},
		{0.00012, 4, "0.00012"},
		{2e20, 4, "2e+20"},
		{-1234.5, 2, "-1,234"},
		{0, 3, "0"},
	} {
		assert.Equal(t, c.want, Digits(c.v, c.n))
	}
}

func TestDistinctTellsNeighboursApart(t *testing.T) {
	a, b := Distinct(19_999.6, 20_000, 4)
	assert.Equal(t, []string{"19,999.6", "20,000"}, []string{a, b})
	a, b = Distinct(math.Nextafter(60, 61), 60, 4)
	assert.NotEqual(t, a, b)
}

func TestDistinctTellsApartWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e9, 1e9).Draw(t, "a"), rapid.Float64Range(-1e9, 1e9).Draw(t, "b")
		x, y := Distinct(a, b, 4)
		if math.Abs(a-b) > 1e-12*max(math.Abs(a), math.Abs(b)) {
			require.NotEqual(t, x, y)
		}
	})
}

func TestCountsAndParts(t *testing.T) {
	assert.Equal(t, "1,234,567", Count(1_234_567))
	assert.Equal(t, "123", Count(uint64(123)))
	assert.Equal(t, "-1,000", Count(-1000))
	assert.Equal(t, "18,446,744,073,709,551,615", Count(uint64(math.MaxUint64)))
	assert.Equal(t, "1,234,567", Whole(1_234_567))
	assert.Equal(t, "0.500", Whole(0.5))
	assert.Equal(t, "1 round", Plural(1, "round"))
	assert.Equal(t, "1,024 rounds", Plural(1024, "round"))
	assert.Equal(t, "12.3 %", Percent(0.1234))
	assert.Equal(t, "-2.5 %", Change(0.975))
}

func TestFunction(t *testing.T) {
	for name, want := range map[string]string{
		"example.org/engine/shard.(*inbox).put":        "shard.(*inbox).put",
		"github.com/cockroachdb/pebble/v2.(*DB).Apply": "pebble/v2.(*DB).Apply",
		"main.main":                                           "main.main",
		"a/b.(*T[c/d.E]).M.func1":                             "b.(*T[c/d.E]).M.func1",
		"a/b.F[go.shape.struct { c/d.x int }]":                "b.F[go.shape.struct { c/d.x int }]",
		"github.com/pronybench/prony/engine/rpc.(*S).Enqueue": "rpc.(*S).Enqueue",
		"a/b.(*T).F → a/c.G":                                  "b.(*T).F → c.G",
	} {
		assert.Equal(t, want, Function(name))
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{18_249, "nanoseconds", "18.2 µs"},
		{999_600, "nanoseconds", "1.00 ms"},
		{0, "nanoseconds", "0 ns"},
		{0.1, "nanoseconds", "0.100 ns"},
		{-1_500_000, "nanoseconds", "-1.50 ms"},
		{4.2e12, "nanoseconds", "4,200 s"},
		{4200, "bytes", "4.20 kB"},
		{100, "bytes", "100 B"},
		{2e9, "bytes", "2.00 GB"},
		{7, "count", "7.00"},
		{7, "samples", "7.00 samples"},
	} {
		assert.Equal(t, c.want, Amount(c.v, c.unit), "%v %s", c.v, c.unit)
	}
}

func TestTableCountsRunesNotBytes(t *testing.T) {
	table := Table{Header: []string{"time", "of"}, Rows: [][]string{{"1 µs", "a"}, {"10 ms"}}}
	assert.Equal(t, "  time   of\n  1 µs   a\n  10 ms\n", table.Text("  "))
}

func TestTableWithoutNamesHasNoHeader(t *testing.T) {
	assert.Equal(t, "a  b\n", Table{Header: []string{"", ""}, Rows: [][]string{{"a", "b"}}}.Text(""))
}

func TestMarkdownCellsAreOneLineAndEscaped(t *testing.T) {
	assert.Equal(t, "| a |\n| --- |\n| `x\\|y` z |\n", Table{Header: []string{"a"}, Rows: [][]string{{"`x|y`\n z"}}}.Markdown())
}
