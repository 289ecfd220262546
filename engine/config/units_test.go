package config

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "1ms": time.Millisecond, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond,
		"7d": 7 * 24 * time.Hour, "0d": 0,
	} {
		d, err := ParseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, d, text)
	}
	for text, want := range map[string]string{
		"": "is not a duration", "soon": "is not a duration", "d": "is not a duration", "1.5d": "is not a duration", "-1d": "is not a duration",
		"10": `has no unit: write "10s" for seconds`, "0": `has no unit`, "-1s": "is negative", "1us": "whole number of milliseconds",
		"4294967295d": `is too long: write at most "106751d"`, "106752d": "is too long", "9999999999h": "is too long", "99999999999999999999d": "is too long",
	} {
		_, err := ParseDuration(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "512": 512, "512B": 512, "64KiB": 64 << 10, "1MiB": 1 << 20, "3 GiB": 3 << 30, "2TiB": 2 << 40} {
		n, err := ParseSize(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n, text)
	}
	for text, want := range map[string]string{
		"": "is not a size", "B": "is not a size", "-1": "is not a size", "1.5MiB": "is not a size", "1MB": "is not a size", "many": "is not a size",
		"9223372036854775808": "is too large", "8388608TiB": "is too large",
	} {
		_, err := ParseSize(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// Formatted values are parsed as the same values.
func TestFormatsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, math.MaxInt64/int64(time.Millisecond)).Draw(t, "ms")
		d, err := ParseDuration(FormatDuration(time.Duration(ms) * time.Millisecond))
		require.NoError(t, err)
		assert.Equal(t, ms, d.Milliseconds())
		bytes := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "bytes")
		n, err := ParseSize(FormatSize(bytes))
		require.NoError(t, err)
		assert.Equal(t, bytes, n)
	})
	for d, want := range map[time.Duration]string{0: "0s", time.Minute: "1m", time.Hour: "1h", 366 * day: "366d", 1500 * time.Millisecond: "1.5s", 90 * time.Minute: "1h30m"} {
		assert.Equal(t, want, FormatDuration(d))
	}
	for n, want := range map[uint64]string{0: "0B", 1: "1B", 1 << 20: "1MiB", 1025: "1025B"} {
		assert.Equal(t, want, FormatSize(n))
	}
}

func TestNearest(t *testing.T) {
	names := []string{"listen", "http", "admin", "shards", "durability", "sync_interval", "tls"}
	for name, want := range map[string]string{
		"lisen": "listen", "sharsd": "shards", "durabilty": "durability", "sync-interval": "sync_interval", "tl": "tls", "tlss": "tls",
		"": "", "replicas": "", "x": "", "durability": "durability",
	} {
		assert.Equal(t, want, Nearest(name, names), name)
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]uint64{"200MB": 200_000_000, "2GB": 2_000_000_000, "1GiB": 1 << 30, "7": 7} {
		n, err := parseMemory(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, n)
	}
	for _, text := range []string{"MB", "-1MB", "99999999999999999GB", "1KB", "much"} {
		_, err := parseMemory(text)
		require.Error(t, err, text)
	}
}
