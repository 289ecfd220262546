package disk

import (
	"errors"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// roomPoll is the interval between checks for room by a write that found the disk full.
	roomPoll = 50 * time.Millisecond
	// roomMin is the free space in bytes that such a write waits for.
	roomMin = 4 << 20
)

// BoundWaits sets the maximum time that a write that finds the disk full waits for room; 0 means no
// maximum. After this time the write fails, which ends the process. A node of a cluster needs a
// maximum, because its Raft groups cannot elect another leader while it waits.
func (s *Space) BoundWaits(most time.Duration) {
	if s != nil {
		s.waitMax.Store(int64(most))
	}
}

// Files returns a file system whose writes wait while the disk is full or a disk quota is
// exhausted. A write that finds no space removes the ballast, waits for room and tries again. The
// commit is not acknowledged before the write succeeds. A failed fsync is not retried.
func (s *Space) Files(fs vfs.FS) vfs.FS {
	if s == nil {
		return fs
	}
	return vfs.OnDiskFull(quotaFS{fs}, s.waitForRoom)
}

// waitForRoom blocks until the disk has room, the time set with BoundWaits has passed, or the Space
// is closed. A write that found the disk full calls it, possibly while Pebble holds locks, so it
// must not call Pebble.
func (s *Space) waitForRoom() {
	s.publishing.Lock()
	s.full++
	s.publishLocked()
	s.publishing.Unlock()
	defer func() {
		s.publishing.Lock()
		s.full--
		s.publishLocked()
		s.publishing.Unlock()
	}()
	released := s.ballast.release()
	s.o.Log.Error("the disk is full: writing waits until there is room", "folder", s.o.Dir, "ballast_released", released,
		"remedy", "free space on the file system of the data folder, or enlarge it or the disk quota")
	began := time.Now()
	tick := time.NewTicker(roomPoll)
	defer tick.Stop()
	for {
		if s.hasRoom() {
			return
		}
		s.ballast.release() // ballast.restore may have created it again
		if most := time.Duration(s.waitMax.Load()); most > 0 && time.Since(began) > most {
			return
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hasRoom reports whether a write would find room. It writes a file to find out, because the number
// of free bytes does not take account of a disk quota. It returns true if the free space cannot be
// read.
func (s *Space) hasRoom() bool {
	if u, err := s.o.FS.GetDiskUsage(s.o.Dir); err != nil || u.AvailBytes < roomMin {
		return err != nil
	}
	return !errors.Is(asNoSpace(s.ballast.try(roomMin)), syscall.ENOSPC)
}
