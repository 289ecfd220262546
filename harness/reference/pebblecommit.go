package reference

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
)

// Options of the engine's store that affect the cost of a commit.
const (
	memTableBytes   = 64 << 20
	memTablesStop   = 4
	walBytesPerSync = 1 << 20
)

// silent discards Pebble's log, because Pebble also returns errors.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...)) // Pebble expects that Fatalf does not return
}

// pebbleCommit commits batches one after the other. Each batch contains the payloads of one call.
func pebbleCommit(ctx context.Context, c Config) (m measured, err error) {
	dir, err := os.MkdirTemp(c.Dir, ".prony-reference-*")
	if err != nil {
		return m, fmt.Errorf("create a folder for a store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := pebble.Open(dir, &pebble.Options{
		FormatMajorVersion: pebble.FormatColumnarBlocks, MemTableSize: memTableBytes,
		MemTableStopWritesThreshold: memTablesStop, WALBytesPerSync: walBytesPerSync, Logger: silent{},
	})
	if err != nil {
		return m, fmt.Errorf("open a store: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	how := pebble.NoSync
	if c.Sync {
		how = pebble.Sync
	}
	payload, key := make([]byte, c.Payload), make([]byte, 16)
	sequence := uint64(0)
	return repeat(ctx, c.For, func() (err error) {
		batch := db.NewBatch()
		defer func() { err = errors.Join(err, batch.Close()) }()
		for range c.Batch {
			sequence++
			binary.BigEndian.PutUint64(key[8:], sequence)
			if err := batch.Set(key, payload, nil); err != nil {
				return fmt.Errorf("fill a batch: %w", err)
			}
		}
		if err := batch.Commit(how); err != nil {
			return fmt.Errorf("commit a batch: %w", err)
		}
		return nil
	})
}
