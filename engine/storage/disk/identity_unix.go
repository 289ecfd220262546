//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identityOf returns the identity of a file, or false if the file is not in a file system of the
// operating system.
func identityOf(info os.FileInfo) (fileIdentity, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileIdentity{}, false
	}
	return fileIdentity{uint64(s.Dev), uint64(s.Ino)}, true //nolint:unconvert // types differ
}

func readOnly(path string) bool { return errors.Is(unix.Access(path, unix.W_OK), unix.EROFS) }

func unlinked(fd uintptr) bool {
	var stat syscall.Stat_t
	return syscall.Fstat(int(fd), &stat) == nil && stat.Nlink == 0
}
