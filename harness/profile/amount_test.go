package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAmount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{18_000, "nanoseconds", "18 µs"},
		{18_249, "nanoseconds", "18.2 µs"},
		{999_600, "nanoseconds", "1 ms"},
		{2.5, "nanoseconds", "2.5 ns"},
		{0, "nanoseconds", "0 ns"},
		{-1_500_000, "nanoseconds", "-1.5 ms"},
		{4.2e12, "nanoseconds", "4200 s"},
		{0.01234, "nanoseconds", "0.0123 ns"},
		{1e-9, "nanoseconds", "0 ns"},
		{4200, "bytes", "4.1 KiB"},
		{100, "bytes", "100 B"},
		{3 << 30, "bytes", "3 GiB"},
		{1234, "count", "1234"},
		{7, "samples", "7 samples"},
	} {
		assert.Equal(t, c.want, Amount(c.v, c.unit), "%v %s", c.v, c.unit)
	}
}
