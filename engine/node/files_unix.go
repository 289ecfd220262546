//go:build unix

package node

import (
	"fmt"
	"syscall"
)

// filesLimitMost exceeds the number of files that any server opens.
const filesLimitMost = 1 << 24

// filesLimit returns the maximum number of open files of the process. It uses the soft limit, which
// the Go runtime has already raised to the hard limit.
func filesLimit() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("read how many files the process may have open: %w", err)
	}
	return int(min(l.Cur, filesLimitMost)), nil
}
