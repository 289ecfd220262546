package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BallastFile is a file of the data folder that only occupies space. The server removes it when the disk is full, so that it can
// complete the writes under way and start again. An operator may remove it too.
const BallastFile = "BALLAST"

// ballastDefault is the size of the ballast unless SpaceOptions has another.
const ballastDefault = 64 << 20

// tryBlock is how much ballast.try writes at once.
const tryBlock = 64 << 10

// ballast is the ballast file. Its methods are safe for concurrent use.
type ballast struct {
	fs   vfs.FS
	path string
	most uint64 // its size where the critical mark is above

	mu    sync.Mutex // held for creating or removing the file
	there bool
}

// begin makes the ballast if there is room for it, also in the place of one that may have another size. It removes the ballast if the server
// needs that room to start.
func (b *ballast) begin(log *slog.Logger, u SpaceUsage) {
	_, err := b.fs.Stat(b.path)
	b.mu.Lock()
	b.there = err == nil && !b.fits(u)
	b.mu.Unlock()
	if u.Total > 0 && u.Free < roomMin {
		if b.release() {
			log.Warn("the disk is full: the ballast was released, so that the server can start", "file", b.path)
		}
		return
	}
	b.restore(log, u)
}

// restore makes the ballast again if it was removed and the state with it would be the same.
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
		log.Warn("the ballast could not be made", "file", b.path, "error", err)
	}
	b.there = true // also after a failure, so that it is not tried again before the next start
}

// size returns the size of the ballast for a reading, 0 without a critical mark: then the server makes no ballast.
func (b *ballast) size(u SpaceUsage) uint64 { return min(u.Critical, b.most) }

// fits reports whether the state would be the same with the ballast.
func (b *ballast) fits(u SpaceUsage) bool {
	size := b.size(u)
	return size > 0 && u.Available >= u.Low+u.Low/hysteresis+size
}

func (b *ballast) create(size int64) error {
	f, err := b.fs.Create(b.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("make the ballast: %w", err)
	}
	return errors.Join(f.Preallocate(0, size), f.Close())
}

// release removes the ballast, and returns whether there was one.
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

// try writes a file of a size beside the ballast, and removes it.
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
