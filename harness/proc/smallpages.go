package proc

import (
	"sync"

	"golang.org/x/sys/unix"
)

// pages is write-locked while this process has small pages only, and read-locked while it starts a
// process without that.
var pages sync.RWMutex

// inPages calls start, which starts a process, with or without small pages only.
func inPages(small bool, start func() error) error {
	if small {
		return inSmallPages(start)
	}
	pages.RLock()
	defer pages.RUnlock()
	return start()
}

// inSmallPages has this process map all memory by small pages while start runs. The process that
// start starts inherits that, and keeps it. Linux has done so with memory since 3.15, and with
// files of the page cache, such as programs, since 6.12.
//
// A refusal of the kernel is no error. observe.ReadCodePages tells whether the process has large
// pages.
func inSmallPages(start func() error) error {
	pages.Lock()
	defer pages.Unlock()
	before, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err != nil || before == 1 {
		return start()
	}
	if unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) == nil {
		// Since Linux 6.18 bit 0 is on or off, and the other bits are the flags.
		defer func() { _ = unix.Prctl(unix.PR_SET_THP_DISABLE, uintptr(before&1), uintptr(before&^1), 0, 0) }()
	}
	return start()
}
