// Package quotafstest implements a file system of limited size for tests. A write beyond the size
// fails with ENOSPC, as on a full disk. A write beyond a separate limit fails with EDQUOT, as
// beyond a disk quota.
package quotafstest

import (
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS passes writes to another file system, counts the bytes, and refuses writes
// that would exceed the configured size.
// Existing files do not count until they are written to. FS is safe for concurrent use.
type FS struct {
	vfs.FS

	mu       sync.Mutex
	capacity uint64
	foreign  uint64 // bytes that other programs occupy, as set by Occupy and LeaveFree
	used     uint64 // bytes that the files occupy
	files    map[string]*file
	refused  int
	limit    uint64  // maximum of used; 0 means no limit; see Limit
	pinned   *uint64 // number of free bytes to report, or nil; see Pin
}

// file is a file, which may have several names (hard links).
type file struct {
	bytes uint64
	links int
}

// New returns a file system that stores its files in the file system on. capacity is in bytes.
func New(on vfs.FS, capacity uint64) *FS {
	return &FS{FS: on, capacity: capacity, files: map[string]*file{}}
}

// Occupy sets the number of bytes that other programs occupy. If this leaves no free bytes, all
// writes that need space fail.
func (q *FS) Occupy(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.foreign, q.pinned = bytes, nil
}

// LeaveFree makes other programs occupy all free bytes except the given number.
func (q *FS) LeaveFree(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.foreign, q.pinned = 0, nil
	if occupied := q.used + bytes; occupied < q.capacity {
		q.foreign = q.capacity - occupied
	}
}

// Pin makes the file system report a fixed number of free bytes until Occupy or LeaveFree is
// called, as if another program took each freed byte. It does not affect which writes are refused.
func (q *FS) Pin(free uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pinned = &free
}

// Limit makes writes fail with EDQUOT once the files occupy the given number of bytes. As with a
// user's disk quota, the number of free bytes does not change. 0 removes the limit.
func (q *FS) Limit(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = bytes
}

// Used returns the number of bytes that the files occupy.
func (q *FS) Used() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// Refused returns the number of writes that were refused.
func (q *FS) Refused() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refused
}

// GetDiskUsage implements vfs.FS.
func (q *FS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := uint64(0)
	if taken := q.used + q.foreign; taken < q.capacity {
		free = q.capacity - taken
	}
	if q.pinned != nil {
		free = *q.pinned
	}
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: q.capacity, UsedBytes: q.capacity - free}, nil
}

// grow reserves space so that a file can grow to the given size. The error contains the operation,
// the file name, and ENOSPC or EDQUOT.
func (q *FS) grow(f *file, to uint64, op, name string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if to <= f.bytes {
		return nil
	}
	more, taken := to-f.bytes, q.used+q.foreign
	var why syscall.Errno
	switch {
	case taken >= q.capacity || more > q.capacity-taken:
		why = syscall.ENOSPC
	case q.limit > 0 && q.used+more > q.limit:
		why = syscall.EDQUOT
	default:
		f.bytes = to
		q.used += more
		return nil
	}
	q.refused++
	return &os.PathError{Op: op, Path: name, Err: why}
}

// putLocked gives a file a name. The caller holds mu.
func (q *FS) putLocked(name string, f *file) {
	q.dropLocked(name)
	f.links++
	q.files[name] = f
}

// dropLocked removes a name. The caller holds mu.
func (q *FS) dropLocked(name string) {
	f := q.files[name]
	if f == nil {
		return
	}
	delete(q.files, name)
	if f.links--; f.links == 0 {
		q.used -= f.bytes
		f.bytes = 0
	}
}

// Create implements vfs.FS.
func (q *FS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	inner, err := q.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	f := &file{}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.putLocked(name, f)
	return &handle{File: inner, fs: q, file: f, name: name}, nil
}

// ReuseForWrite implements vfs.FS.
func (q *FS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	inner, err := q.FS.ReuseForWrite(oldname, newname, c)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.files[oldname]
	if f == nil {
		f = &file{}
	}
	f.links++
	q.dropLocked(oldname)
	f.links--
	q.putLocked(newname, f)
	return &handle{File: inner, fs: q, file: f, name: newname}, nil
}

// Link implements vfs.FS.
func (q *FS) Link(oldname, newname string) error {
	if err := q.FS.Link(oldname, newname); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := q.files[oldname]; f != nil {
		q.putLocked(newname, f)
	}
	return nil
}

// Rename implements vfs.FS.
func (q *FS) Rename(oldname, newname string) error {
	if err := q.FS.Rename(oldname, newname); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := q.files[oldname]; f != nil {
		f.links++
		q.dropLocked(oldname)
		f.links--
		q.putLocked(newname, f)
	}
	return nil
}

// Remove implements vfs.FS.
func (q *FS) Remove(name string) error {
	err := q.FS.Remove(name)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropLocked(name)
	return err
}

// RemoveAll implements vfs.FS.
func (q *FS) RemoveAll(name string) error {
	err := q.FS.RemoveAll(name)
	q.mu.Lock()
	defer q.mu.Unlock()
	for known := range q.files {
		if known == name || strings.HasPrefix(known, name+"/") {
			q.dropLocked(known)
		}
	}
	return err
}

// Unwrap implements vfs.FS.
func (q *FS) Unwrap() vfs.FS { return q.FS }

// handle is an open file. If there is no room for a whole write, it writes nothing.
type handle struct {
	vfs.File

	fs   *FS
	file *file
	name string
	at   uint64 // offset of the next Write; only one goroutine may write to a handle
}

func (h *handle) Write(b []byte) (int, error) {
	if err := h.fs.grow(h.file, h.at+uint64(len(b)), "write", h.name); err != nil {
		return 0, err
	}
	n, err := h.File.Write(b)
	h.at += uint64(n)
	return n, err
}

func (h *handle) WriteAt(b []byte, at int64) (int, error) {
	if err := h.fs.grow(h.file, uint64(at)+uint64(len(b)), "write", h.name); err != nil {
		return 0, err
	}
	return h.File.WriteAt(b, at)
}

// Preallocate reserves the space, as fallocate does, even if the underlying file system does not do
// so.
func (h *handle) Preallocate(offset, length int64) error {
	return h.fs.grow(h.file, uint64(offset+length), "allocate", h.name)
}
