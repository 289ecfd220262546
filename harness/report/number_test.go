package report

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
		1234567: "1,230,000", 0.01234: "0.0123", 0.1: "0.100", -1234: "-1,230", -0.5: "-0.500", 0.0001234: "1.23e-04",
		1.5e15: "1.50e+15", math.Inf(1): "not a number",
	} {
		assert.Equal(t, want, number(v), "%v", v)
	}
	assert.Equal(t, "not a number", number(math.NaN()))
}

func TestNumberKeepsThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e16, 1e16).Draw(t, "v")
		back, err := strconv.ParseFloat(strings.ReplaceAll(number(v), ",", ""), 64)
		require.NoError(t, err)
		require.InDelta(t, v, back, math.Abs(v)*0.0051)
	})
}

func TestOtherFormats(t *testing.T) {
	assert.Equal(t, "1,234,567", count(1_234_567))
	assert.Equal(t, "123", count(123))
	assert.Equal(t, "18,446,744,073,709,551,615", count(math.MaxUint64))
	assert.Equal(t, "1,234,567", integral(1_234_567))
	assert.Equal(t, "0.500", integral(0.5))
	assert.Equal(t, "10", short(10))
	assert.Equal(t, "1.5", short(1.5))
	assert.Equal(t, "8,190", short(8192))
	assert.Equal(t, "1.00e-05", short(1e-5))
	assert.Equal(t, "12.3 %", percent(0.1234))
	assert.Equal(t, "1.50 µs", scaled(1500, "nanoseconds"))
	assert.Equal(t, "0.100 ns", scaled(0.1, "nanoseconds"))
	assert.Equal(t, "2.00 GB", scaled(2e9, "bytes"))
	assert.Equal(t, "7.00", scaled(7, "count"))
}

func TestCode(t *testing.T) {
	assert.Equal(t, "`a b`", code("a\n b"))
	assert.Equal(t, "`` a`b ``", code("a`b"))
	assert.Equal(t, "``` a``b`c ```", code("a``b`c"))
	assert.Empty(t, code(" "))
}

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range fromZero(167_000) {
		got = append(got, tick.Label)
	}
	assert.Equal(t, []string{"0", "50,000", "100,000", "150,000"}, got)
	assert.Len(t, fromZero(math.NaN()), 1)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1e-3, 1e12).Draw(t, "limit")
		ticks := fromZero(limit)
		require.GreaterOrEqual(t, len(ticks), 3)
		require.LessOrEqual(t, len(ticks), 11)
		require.Zero(t, ticks[0].Value)
		require.LessOrEqual(t, ticks[len(ticks)-1].Value, limit)
	})
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e3).Draw(t, "low")
		high := low * rapid.Float64Range(10, 1e9).Draw(t, "decades")
		labelled := 0
		for _, tick := range logTicks(low, high) {
			require.GreaterOrEqual(t, tick.Value, low*(1-1e-6))
			require.LessOrEqual(t, tick.Value, high*(1+1e-6))
			if tick.Label != "" {
				labelled++
			}
		}
		require.NotZero(t, labelled)
		require.LessOrEqual(t, labelled, 16)
	})
	var names []string
	for _, tick := range nineTicks(4.2) {
		names = append(names, tick.Label)
	}
	assert.Equal(t, []string{"0", "50", "90", "99", "99.9", "99.99"}, names)
}
