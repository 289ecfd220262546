package proc

import (
	"sync"

	"golang.org/x/sys/unix"
)

// pages is write-locked while this process is restricted to small pages, and read-locked while it
// starts a process without that restriction.
var pages sync.RWMutex

// inPages calls start, which starts a process. small restricts that process to small pages.
func inPages(small bool, start func() error) error {
	if small {
		return inSmallPages(start)
	}
	pages.RLock()
	defer pages.RUnlock()
	return start()
}

// inSmallPages restricts this process to small pages while start runs. The process that start
// starts inherits the restriction permanently. Linux applies it to anonymous memory since 3.15, and
// to files in the page cache, such as programs, since 6.12.
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
		// Since Linux 6.18 bit 0 of the value is the switch, and the other bits are the flags.
		defer func() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, uintptr(before&1), uintptr(before&^1), 0, 0) }()
	}
	return start()
}
