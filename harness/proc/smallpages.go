package proc

import (
	"sync"

	"golang.org/x/sys/unix"
)

// pages is write-locked while this process is restricted to small pages. It is read-locked while
// this process starts another process without that restriction.
var pages sync.RWMutex

// inPages calls start, which must start a process. If small is true, that process is restricted to
// small pages.
func inPages(small bool, start func() error) error {
	if small {
		return inSmallPages(start)
	}
	pages.RLock()
	defer pages.RUnlock()
	return start()
}

// inSmallPages restricts this process to small pages while start is running. The process that start
// creates inherits the restriction permanently. Linux applies the restriction to anonymous memory
// since version 3.15, and to files in the page cache, such as programs, since version 6.12.
//
// If the kernel refuses the restriction, start runs without it. observe.ReadCodePages reports
// whether a process has large pages.
func inSmallPages(start func() error) error {
	pages.Lock()
	defer pages.Unlock()
	before, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err != nil || before == 1 {
		return start()
	}
	if unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) == nil {
		// Since Linux 6.18, bit 0 of the value is the switch, and the other bits are flags.
		defer func() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, uintptr(before&1), uintptr(before&^1), 0, 0) }()
	}
	return start()
}
