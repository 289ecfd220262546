package memory

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Bounds of a server's memory.
const (
	// Least is the least memory that a server works with, in bytes.
	Least = 180 << 20
	// Most is what is above any host's memory, in bytes.
	Most = 1 << 46

	// PercentMax is the greatest part of the host's memory that may be asked for: the system caches files in the rest.
	PercentMax = 90
)

// Size is how much memory a server may take: a number of bytes, or else a part of what the host or its cgroup has. The zero
// value means that nothing is said about it.
type Size struct {
	Bytes   int64
	Percent int // of the memory of the cgroup or host; 0 if Bytes holds
}

// DefaultSize is a quarter of the cgroup's or host's memory.
var DefaultSize = Size{Percent: 25}

// IsZero says whether nothing is said.
func (s Size) IsZero() bool { return s == Size{} }

// String writes the size as the configuration has it, with bytes as format writes them.
func (s Size) String(format func(uint64) string) string {
	if s.Percent > 0 {
		return strconv.Itoa(s.Percent) + "%"
	}
	return format(uint64(s.Bytes))
}

// ParseSize reads "25%", or a number of bytes as parse reads it. The error completes a sentence that begins with the text.
func ParseSize(text string, parse func(string) (uint64, error)) (Size, error) {
	if part, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > PercentMax {
			return Size{}, fmt.Errorf("is not from 1%% to %d%%", PercentMax)
		}
		return Size{Percent: n}, nil
	}
	n, err := parse(text)
	switch {
	case err != nil:
		return Size{}, fmt.Errorf(`%w; or a part of the host's memory, as in "25%%"`, err)
	case n < Least || n > Most:
		return Size{}, fmt.Errorf("is not from %d MiB to %d TiB", Least>>20, Most>>40)
	}
	return Size{Bytes: int64(n)}, nil
}

// Resolve returns the number of bytes. A part of the memory that there is may be below Least; then Least is returned.
func (s Size) Resolve() (int64, error) {
	return s.of(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))
}

func (s Size) of(available memlimit.Provider) (int64, error) {
	if s.Percent == 0 {
		return s.Bytes, nil
	}
	all, err := available()
	if err != nil {
		return 0, errors.Join(errors.New("the memory of the host is not known: say how many bytes the server may take"), err)
	}
	return max(Least, int64(min(all, Most)/100)*int64(s.Percent)), nil
}
