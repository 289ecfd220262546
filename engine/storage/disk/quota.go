package disk

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// quotaFS converts the error of an exhausted disk quota (EDQUOT) to the error of a full disk
// (ENOSPC), because vfs.OnDiskFull handles only ENOSPC.
type quotaFS struct{ vfs.FS }

type quotaError struct{ error }

// Unwrap returns ENOSPC.
func (quotaError) Unwrap() error { return syscall.ENOSPC }

func asNoSpace(err error) error {
	if errors.Is(err, syscall.EDQUOT) {
		return quotaError{err}
	}
	return err
}

func (q quotaFS) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, asNoSpace(err)
	}
	return quotaFile{f}, nil
}

// Create implements vfs.FS.
func (q quotaFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return q.file(q.FS.Create(name, c))
}

// OpenReadWrite implements vfs.FS.
func (q quotaFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return q.file(q.FS.OpenReadWrite(name, c, o...))
}

// ReuseForWrite implements vfs.FS.
func (q quotaFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return q.file(q.FS.ReuseForWrite(oldname, newname, c))
}

// Link implements vfs.FS.
func (q quotaFS) Link(oldname, newname string) error { return asNoSpace(q.FS.Link(oldname, newname)) }

// Remove implements vfs.FS.
func (q quotaFS) Remove(name string) error { return asNoSpace(q.FS.Remove(name)) }

// RemoveAll implements vfs.FS.
func (q quotaFS) RemoveAll(name string) error { return asNoSpace(q.FS.RemoveAll(name)) }

// Rename implements vfs.FS.
func (q quotaFS) Rename(oldname, newname string) error {
	return asNoSpace(q.FS.Rename(oldname, newname))
}

// MkdirAll implements vfs.FS.
func (q quotaFS) MkdirAll(dir string, perm os.FileMode) error {
	return asNoSpace(q.FS.MkdirAll(dir, perm))
}

// Lock implements vfs.FS.
func (q quotaFS) Lock(name string) (io.Closer, error) {
	c, err := q.FS.Lock(name)
	return c, asNoSpace(err)
}

// Unwrap implements vfs.FS.
func (q quotaFS) Unwrap() vfs.FS { return q.FS }

type quotaFile struct{ vfs.File }

// Write implements vfs.File.
func (f quotaFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, asNoSpace(err)
}

// WriteAt implements vfs.File.
func (f quotaFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, asNoSpace(err)
}

// Sync implements vfs.File.
func (f quotaFile) Sync() error { return asNoSpace(f.File.Sync()) }
