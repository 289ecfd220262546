// Package quotafstest is a file system of a bounded size, for tests: writes beyond it fail with ENOSPC, as on a disk that is full,
// and writes beyond a limit with EDQUOT, as beyond a disk quota.
package quotafstest

import (
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS counts what is written through it on another file system, and refuses what exceeds its size. What was there before is
// not counted until it is written to. It is safe for concurrent use.
type FS struct {
	vfs.FS

	mu       sync.Mutex
	capacity uint64
	foreign  uint64 // what other programs occupy
	used     uint64 // by the files
	files    map[string]*file
	refused  int
	limit    uint64  // 0: none; see Limit
	pinned   *uint64 // nil: the free bytes are what is free
}

// file is what a name, or several links, stand for.
type file struct {
	bytes uint64
	links int
}

// New returns a file system of a size.
func New(on vfs.FS, capacity uint64) *FS {
	return &FS{FS: on, capacity: capacity, files: map[string]*file{}}
}

// Occupy has other programs occupy so many bytes in all. That may be more than is free: nothing can be written then.
func (q *FS) Occupy(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.foreign, q.pinned = bytes, nil
}

// LeaveFree has other programs occupy all but so many bytes of what is free.
func (q *FS) LeaveFree(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.foreign, q.pinned = 0, nil
	if occupied := q.used + bytes; occupied < q.capacity {
		q.foreign = q.capacity - occupied
	}
}

// Pin has the file system report so many free bytes, whatever the files occupy, until Occupy or LeaveFree is called: another
// program takes each byte that is freed. Writes are refused as before.
func (q *FS) Pin(free uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pinned = &free
}

// Limit has writes fail with EDQUOT once the files occupy so many bytes, as a user's disk quota does, which the free bytes don't show. 0
// takes that back.
func (q *FS) Limit(bytes uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = bytes
}

// Used is what the files occupy.
func (q *FS) Used() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// Refused is how many writes were refused.
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

// grow lets a file have so many bytes. The error says what was to be done with which file, and why there is no room for it.
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

// putLocked makes a name stand for a file. The caller holds mu.
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

// handle is an open file. A write that there is no room for writes nothing.
type handle struct {
	vfs.File

	fs   *FS
	file *file
	name string
	at   uint64 // where Write goes on; one goroutine writes a file
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

// Preallocate occupies the space, as fallocate does, whatever the file system below does about that.
func (h *handle) Preallocate(offset, length int64) error {
	return h.fs.grow(h.file, uint64(offset+length), "allocate", h.name)
}
