package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BallastFile is the name of a file in the data folder whose only purpose is to reserve space. When
// the disk is full, the server removes the file, so that it can complete the writes under way or
// start again. An operator may remove it too.
const BallastFile = "BALLAST"

// ballastDefault is the size of the ballast in bytes if SpaceOptions does not set one.
const ballastDefault = 64 << 20

// tryBlock is the size of a single write of ballast.try.
const tryBlock = 64 << 10

// ballast manages the ballast file. Its methods are safe for concurrent use.
type ballast struct {
	fs   vfs.FS
	path string
	most uint64 // maximum size of the file in bytes

	mu    sync.Mutex // held while the file is created or removed
	there bool
}

// begin runs when the server starts. If too little space is free for the start, it removes the
// ballast. Otherwise it creates the ballast if there is room for it. It also replaces an existing
// ballast then, whose size may be different.
func (b *ballast) begin(log *slog.Logger, u SpaceUsage) {
	_, err := b.fs.Stat(b.path)
	b.mu.Lock()
	b.there = err == nil && !b.fits(u)
	b.mu.Unlock()
	if u.Total > 0 && u.Free < roomMin {
		if b.release() {
			log.Warn("the disk is full: removed the ballast so that the server can start", "file", b.path)
		}
		return
	}
	b.restore(log, u)
}

// restore creates a removed ballast again, if the disk then still has enough free space for
// SpaceOK.
func (b *ballast) restore(log *slog.Logger, u SpaceUsage) {
	if !b.fits(u) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.there {
		return
	}
	if err := b.create(int64(b.size(u))); err != nil {
		log.Warn("could not create the ballast", "file", b.path, "error", err)
	}
	b.there = true // also after a failure, so that it is not retried before the next start
}

// size returns the size of the ballast, in bytes, for a reading of the free space. It returns 0 if
// the critical mark is off: the server then creates no ballast.
func (b *ballast) size(u SpaceUsage) uint64 { return min(u.Critical, b.most) }

// fits reports whether enough space for SpaceOK would remain free after the ballast is created.
func (b *ballast) fits(u SpaceUsage) bool {
	size := b.size(u)
	return size > 0 && u.Available >= u.Low+u.Low/hysteresis+size
}

func (b *ballast) create(size int64) error {
	f, err := b.fs.Create(b.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create the ballast: %w", err)
	}
	return errors.Join(f.Preallocate(0, size), f.Close())
}

func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.there {
		return false
	}
	b.there = false
	err := b.fs.Remove(b.path)
	return err == nil || !errors.Is(err, os.ErrNotExist)
}

func (b *ballast) try(size int) error {
	path := b.path + ".try"
	f, err := b.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	block := make([]byte, min(size, tryBlock))
	for written := 0; err == nil && written < size; written += len(block) {
		_, err = f.Write(block)
	}
	return errors.Join(err, f.Close(), b.fs.Remove(path))
}
