package scenario

import (
	"fmt"
	"strconv"
)

// diskSize is a size in bytes whose text is that of scenarios: "512MiB", "1GiB".
type diskSize int64

// FormatDiskSize formats a size in bytes in the syntax of scenarios: "512MiB", "1GiB".
func FormatDiskSize(bytes int64) string {
	for _, unit := range diskUnits {
		if factor := int64(unit.factor); bytes >= factor && bytes%factor == 0 {
			return strconv.FormatInt(bytes/factor, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bytes, 10)
}

// MarshalText writes the size as FormatDiskSize does.
func (s diskSize) MarshalText() ([]byte, error) { return []byte(FormatDiskSize(int64(s))), nil }

// UnmarshalText reads what MarshalText writes.
func (s *diskSize) UnmarshalText(text []byte) error {
	if n, ok := diskUnits.whole(string(text), 20); ok {
		*s = diskSize(n)
		return nil
	}
	return fmt.Errorf("%q is not a size such as 512MiB or 1GiB", text)
}
