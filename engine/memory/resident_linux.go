package memory

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// newResident returns a function that reads the resident set size of the process, in bytes. The
// file stays open, so that the function still works when clients use up all file descriptors.
func newResident() func() (int64, error) {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		err = fmt.Errorf("read the process's resident memory: %w", err)
		return func() (int64, error) { return 0, err }
	}
	return func() (int64, error) { return residentOf(f) }
}

func residentOf(f *os.File) (int64, error) {
	var buffer [256]byte
	n, err := f.ReadAt(buffer[:], 0)
	if n == 0 && err != nil {
		return 0, fmt.Errorf("read the process's resident memory: %w", err)
	}
	fields := bytes.Fields(buffer[:n])
	if len(fields) < 2 {
		return 0, fmt.Errorf("read the process's resident memory: %q has fewer than two numbers", buffer[:n])
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the process's resident memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
