//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identityOf returns the identity of a file of the operating system.
func identityOf(info os.FileInfo) (fileIdentity, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileIdentity{}, false
	}
	return fileIdentity{uint64(s.Dev), uint64(s.Ino)}, true //nolint:unconvert // their types differ between systems
}

// readOnly reports whether a path of the operating system is on a file system that allows no
// writes.
func readOnly(path string) bool { return errors.Is(unix.Access(path, unix.W_OK), unix.EROFS) }

// linkCount is where the number of an open file's names is read to.
type linkCount struct{ stat syscall.Stat_t }

// none reports whether an open file has no name.
func (l *linkCount) none(fd uintptr) bool {
	return syscall.Fstat(int(fd), &l.stat) == nil && l.stat.Nlink == 0
}
