package storage

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/storage/disk"
)

// Space watches the free space of a data folder and decides which commands are allowed.
type Space = disk.Space

// SpaceMark is a threshold of the free space.
type SpaceMark = disk.Mark

// Unflushed implements disk.SpaceUser.
func (s *Store) Unflushed() uint64 {
	return s.flushes.Unflushed(s.db) + uint64(s.Young().Bytes)
}

// Files implements disk.SpaceUser.
func (s *Store) Files() *disk.Files { return s.files }

// compactionsMax limits the number of compactions in one call of Reclaim.
const compactionsMax = 100

// Reclaim implements disk.SpaceUser. It flushes the memtables, so that Pebble removes their log,
// and then compacts the tables that contain deletions, one after the other. It skips a compaction
// that needs more than half of room (in bytes), because Pebble may run another compaction at the
// same time. It does nothing if no commit followed the last complete Reclaim and there are no young
// records. It also does nothing if room is 0: a flush would find the disk full and use up the
// ballast, which the next start needs.
func (s *Store) Reclaim(ctx context.Context, room uint64) error {
	committed := s.flushes.Committed()
	if s.readOnly || room == 0 || committed == s.reclaimed && s.Young().Records == 0 {
		return nil
	}
	release, err := s.storeYoungIn(room) // otherwise the logs of young records would be retained
	if err != nil {
		return fmt.Errorf("reclaim space in %s: %w", s.dir, err)
	}
	flushed, err := s.db.AsyncFlush()
	release()
	if err != nil {
		return fmt.Errorf("reclaim space in %s: %w", s.dir, err)
	}
	select {
	case <-flushed:
	case <-ctx.Done():
		return ctx.Err()
	}
	skipped := map[uint64]bool{} // tables whose compaction needs more room
	for range compactionsMax {
		more, err := s.compactDeletions(ctx, room/2, skipped)
		if err != nil {
			return fmt.Errorf("reclaim space in %s: %w", s.dir, err)
		}
		if !more {
			s.reclaimed = committed
			break
		}
	}
	return nil
}

// storeYoungIn stores the young records if room, in bytes, suffices to write them twice: to the log
// and to a table.
func (s *Store) storeYoungIn(room uint64) (release func(), err error) {
	if 2*uint64(s.Young().Bytes) > room {
		return func() {}, nil
	}
	return s.storeYoung()
}

// compactDeletions compacts a part of one table that contains deletions, in the uppermost level
// that has such a table. It returns false if there is no such table, apart from skipped tables.
func (d *database) compactDeletions(ctx context.Context, room uint64, skipped map[uint64]bool) (more bool, err error) {
	levels, err := d.db.SSTables(pebble.WithProperties())
	if err != nil {
		return false, err
	}
	for depth, level := range levels {
		for i := range level {
			t := &level[i]
			if skipped[uint64(t.FileNum)] || t.Properties.NumDeletions == 0 {
				continue
			}
			from, to := t.Smallest.UserKey, endOfSlice(levels[depth+1:], t.Smallest.UserKey, t.Largest.UserKey)
			needs, err := d.db.EstimateDiskUsage(from, to)
			if err != nil {
				return false, err
			}
			if needs += t.Size + overlap(levels[depth+1:], t); needs > room {
				skipped[uint64(t.FileNum)] = true
				continue
			}
			return true, d.db.Compact(ctx, from, append(bytes.Clone(to), 0), false)
		}
	}
	return false, nil
}

// endOfSlice returns the end of the part of a table that one compaction should process. The part
// ends at the latest where the first overlapping table of the lowest overlapping level ends. The
// rest of the table is then in smaller tables of the next level.
func endOfSlice(below [][]pebble.SSTableInfo, from, to []byte) []byte {
	for depth := len(below) - 1; depth >= 0; depth-- {
		for i := range below[depth] {
			if t := &below[depth][i]; bytes.Compare(t.Largest.UserKey, from) >= 0 {
				if bytes.Compare(t.Largest.UserKey, to) < 0 && bytes.Compare(t.Largest.UserKey, from) > 0 {
					return t.Largest.UserKey
				}
				return to
			}
		}
	}
	return to
}

// overlap returns the size of the tables that a compaction of a whole table rewrites: the
// overlapping tables of the next level that is not empty.
func overlap(below [][]pebble.SSTableInfo, with *pebble.SSTableInfo) (size uint64) {
	for _, level := range below {
		for i := range level {
			t := &level[i]
			if bytes.Compare(t.Largest.UserKey, with.Smallest.UserKey) >= 0 && bytes.Compare(t.Smallest.UserKey, with.Largest.UserKey) <= 0 {
				size += t.Size
			}
		}
		if len(level) > 0 {
			return size
		}
	}
	return size
}

// neverReclaimed is the value of Store.reclaimed before the first Reclaim.
const neverReclaimed = math.MaxUint64
