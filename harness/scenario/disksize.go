package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// diskSize is a size in bytes whose text is that of scenarios: "512MiB", "1GiB".
type diskSize int64

var diskUnits = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}}

// FormatDiskSize formats a size in bytes in the syntax of scenarios: "512MiB", "1GiB".
func FormatDiskSize(bytes int64) string {
	for _, unit := range diskUnits {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bytes, 10)
}

// MarshalText writes the size as FormatDiskSize does.
func (s diskSize) MarshalText() ([]byte, error) { return []byte(FormatDiskSize(int64(s))), nil }

// UnmarshalText reads what MarshalText writes.
func (s *diskSize) UnmarshalText(text []byte) error {
	for _, unit := range diskUnits {
		digits, found := strings.CutSuffix(string(text), unit.suffix)
		if n, err := strconv.ParseUint(digits, 10, 20); found && err == nil {
			*s = diskSize(int64(n) * unit.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size such as 512MiB or 1GiB", text)
}
