package memory

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// residentBytes returns the resident set size of the process.
func residentBytes() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the process's resident memory: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("read the process's resident memory: %q has no second number", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the process's resident memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
