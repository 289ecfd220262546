package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/storage/disk"
)

// Durability is when a commit counts as done.
type Durability = disk.Durability

// The durability modes.
const (
	Sync     = disk.Sync
	Interval = disk.Interval
	None     = disk.None
)

// ParseDurability reads the name of a mode.
func ParseDurability(name string) (Durability, error) { return disk.ParseDurability(name) }

// Options say how a store is opened.
type Options struct {
	Durability   Durability
	SyncInterval time.Duration // with Interval; 0 means DefaultSyncInterval
	FS           vfs.FS        // nil: the operating system's
	Log          *slog.Logger
	// Replicated opens a store that has no log of its own: what it lacks is applied to it from the log that the nodes share.
	// Durability says nothing of it then but what that log does.
	Replicated bool
	// ReadOnly opens a store that exists, to look at: what its log holds is read into memory, and nothing is written
	// but the lock. NewBatch must not be called.
	ReadOnly bool
	// Fatal is called, with what happened, when the store can't go on: a write or fsync of the log
	// failed. It must not return to the caller in a server; nil means log and exit with status 1.
	Fatal func(problem string)
	// Cache holds blocks of tables; nil means one of the store's own, of DefaultCacheBytes.
	Cache *Cache
	// Space, if not nil, is told what the store needs, and makes its writes wait while the disk is full.
	Space *Space
	// MemTableBytes is the size of a memtable, of which a store has up to four; 0 means DefaultMemTableBytes.
	MemTableBytes uint64
	// OpenTablesMax is how many tables may be open at a time; 0 means 1,000. What else a store has open is fewer than 20 files.
	OpenTablesMax int
}

// Cache is a block cache that stores share. Close it when all of them are opened; it lives on as long as they do.
type Cache struct{ c *pebble.Cache }

// NewCache returns a cache of a size.
func NewCache(bytes int64) *Cache { return &Cache{pebble.NewCache(bytes)} }

// Close gives up the caller's hold on the cache.
func (c *Cache) Close() { c.c.Unref() }

// DefaultSyncInterval is how often the log is fsynced under Interval.
const DefaultSyncInterval = disk.DefaultSyncInterval

const (
	// DefaultMemTableBytes is large: it lets a task's set and its single delete meet in memory, so that most of
	// what is completed quickly never reaches a table.
	DefaultMemTableBytes = 64 << 20
	// DefaultCacheBytes is the size of a store's own block cache.
	DefaultCacheBytes = 32 << 20

	memTablesStop = 4
	// walBytesPerSync is how much of the log the system may put off writing.
	walBytesPerSync = 1 << 20
)

// Store is one shard's keyspace. It is safe for concurrent use; each Batch is not.
type Store struct {
	db         *pebble.DB
	fs         vfs.FS // below what Durability does with the log
	dir        string
	readOnly   bool
	replicated bool
	durability Durability
	files      *disk.Files // on fs
	count      counters
	stalls     stalls
	position   atomic.Pointer[Position]
	space      *Space
	flushes    disk.Flushes
	reclaimed  uint64 // bytes committed when space was last reclaimed; Reclaim's
}

type counters struct {
	sets, setBytes, deletes, gets, scanned, read, payloads atomic.Uint64
}

// Counters are operations on the keyspace since it was opened.
type Counters struct {
	Sets     uint64
	SetBytes uint64
	Deletes  uint64
	Gets     uint64
	// Scanned are the keys that scans stepped over, deleted ones and older versions of others included.
	Scanned uint64
	// TaskBytes are the bytes of tasks that were read, and PayloadBytes those of payloads that were copied from them.
	TaskBytes, PayloadBytes uint64
	Fsyncs                  uint64 // of all files
	// FsyncTime is how long these took together. Some are in the background.
	FsyncTime time.Duration
}

// Counters returns the operations so far.
func (s *Store) Counters() Counters {
	c := Counters{
		Sets: s.count.sets.Load(), SetBytes: s.count.setBytes.Load(),
		Deletes: s.count.deletes.Load(), Gets: s.count.gets.Load(), Scanned: s.count.scanned.Load(),
		TaskBytes: s.count.read.Load(), PayloadBytes: s.count.payloads.Load(),
	}
	c.Fsyncs, c.FsyncTime = s.files.Fsyncs()
	return c
}

// Open opens the store in a folder, which it makes if need be. One process at a time may hold it.
func Open(dir string, o Options) (*Store, error) {
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	fs = o.Space.Files(fs)
	s := &Store{fs: fs, dir: dir, readOnly: o.ReadOnly, replicated: o.Replicated, durability: o.Durability, space: o.Space, reclaimed: neverReclaimed}
	logger := disk.NewLog(o.Log, o.Fatal)
	var err error
	if s.files, err = disk.Guard(fs, dir, o.Durability, o.SyncInterval, logger); err != nil {
		return nil, err
	}
	cache := o.Cache
	if cache == nil {
		cache = NewCache(DefaultCacheBytes)
		defer cache.Close()
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = DefaultMemTableBytes
	}
	if !o.ReadOnly {
		if err := disk.MakeFolder(s.fs, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
		}
	}
	if err := disk.BreakSeal(s.fs, dir, o.ReadOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
	}
	db, err := disk.Open(dir, &pebble.Options{
		FS: s.files,
		// Not FormatWALSyncChunks, which would have Pebble note how far the log was synced: disk/synced.go says why.
		FormatMajorVersion:          pebble.FormatColumnarBlocks,
		Cache:                       cache.c,
		MemTableSize:                o.MemTableBytes,
		MaxOpenFiles:                o.OpenTablesMax,
		MemTableStopWritesThreshold: memTablesStop,
		WALBytesPerSync:             walBytesPerSync,
		Logger:                      logger, // what the event listener's defaults log to
		LoggerAndTracer:             logger,
		EventListener: &pebble.EventListener{
			DataCorruption: logger.Damaged(o.ReadOnly), WriteStallBegin: s.stalls.begin, WriteStallEnd: s.stalls.end,
			FlushBegin: s.flushes.Begin, FlushEnd: s.flushes.End,
		},
		ReadOnly:   o.ReadOnly,
		DisableWAL: o.Replicated,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
	}
	s.db = db
	if err := s.readPosition(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.Close())
	}
	s.space.Join(s)
	return s, nil
}

// Durability is the mode that the store was opened with.
func (s *Store) Durability() Durability { return s.durability }

// Persist returns when all that was committed survives a loss of power, in whatever mode.
func (s *Store) Persist() error {
	if s.durability == Sync && !s.replicated {
		return nil
	}
	return s.Flush()
}

// NewBatch returns an empty batch.
func (s *Store) NewBatch() *Batch {
	return &Batch{store: s, b: s.db.NewBatch()}
}

// Checkpoint writes a consistent copy of the store into a folder that must not exist, with all that was committed before
// the call. It reads all of the copy: if a file of the store is damaged, the error is a *disk.DamagedError, and the copy
// must not be used.
func (s *Store) Checkpoint(dir string) error {
	synced := s.files.SyncedLog()
	var err error
	if s.replicated { // without a log, a checkpoint has only what is in tables
		err = s.Flush()
	}
	if err == nil {
		err = s.db.Checkpoint(dir, pebble.WithFlushedWAL())
	}
	if err == nil {
		err = synced.Check(s.fs, dir)
	}
	if err == nil {
		err = disk.Seal(s.fs, dir)
	}
	if err == nil {
		err = disk.CheckCopyIn(s.fs, dir)
	}
	if err != nil {
		return fmt.Errorf("write a checkpoint to %s: %w", dir, err)
	}
	return nil
}

// Close flushes what is under way and closes the store. No batch may be in use.
func (s *Store) Close() error {
	s.space.Leave(s)
	var err error
	if s.replicated && !s.readOnly { // so that the next start has little to apply again
		err = s.Flush()
	}
	err = errors.Join(err, s.db.Close(), s.files.Close())
	if err == nil && !s.readOnly {
		err = disk.Seal(s.fs, s.dir)
	}
	return err
}

// get returns a copy of a key's value, or false.
func (s *Store) get(key []byte) ([]byte, bool, error) {
	s.count.gets.Add(1)
	return get(s.db, key)
}

func get(r pebble.Reader, key []byte) (value []byte, found bool, err error) {
	found, err = view(r, key, func(v []byte) error {
		value = append([]byte(nil), v...)
		return nil
	})
	return value, found, err
}

// view calls visit with the value of a key, if there is one. The value is valid during the call only.
func view(r pebble.Reader, key []byte, visit func(v []byte) error) (found bool, err error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read key %x: %w", key, err)
	}
	defer closeAfter(closer, &err)
	return true, visit(v)
}

// exists says whether there is a key.
func exists(r pebble.Reader, key []byte) (bool, error) {
	return view(r, key, func([]byte) error { return nil })
}

func closeAfter(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
