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
	// Least is the minimum memory of a server in bytes.
	Least = 180 << 20
	// Most is the highest configurable limit in bytes. It is more than the memory of any host.
	Most = 1 << 46

	// PercentMax is the highest configurable percentage of the host's memory. The rest is for the
	// system's file cache.
	PercentMax = 90
)

// Size is the configured limit of a server's memory: a number of bytes, or a percentage of the
// memory of the cgroup or host. The zero value means that no limit is configured.
type Size struct {
	Bytes   int64
	Percent int // percentage of the memory of the cgroup or host; 0 means that Bytes applies
}

// DefaultSize is a quarter of the memory of the cgroup or host.
var DefaultSize = Size{Percent: 25}

// IsZero reports whether no limit is configured.
func (s Size) IsZero() bool { return s == Size{} }

// String returns the size in the form used in the configuration. format formats a number of bytes.
func (s Size) String(format func(uint64) string) string {
	if s.Percent > 0 {
		return strconv.Itoa(s.Percent) + "%"
	}
	return format(uint64(s.Bytes))
}

// ParseSize parses a percentage such as "25%", or a number of bytes with the function parse. The
// text of the error continues a sentence that begins with text, such as "is not from …".
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

// Resolve returns the limit in bytes. For a percentage it returns at least Least.
func (s Size) Resolve() (int64, error) {
	return s.of(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))
}

func (s Size) of(available memlimit.Provider) (int64, error) {
	if s.Percent == 0 {
		return s.Bytes, nil
	}
	all, err := available()
	if err != nil {
		return 0, errors.Join(errors.New("the memory of the host is unknown: configure the bound in bytes"), err)
	}
	return max(Least, int64(min(all, Most)/100)*int64(s.Percent)), nil
}
