package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/young"
)

// Durability determines when Commit.Wait returns.
type Durability = disk.Durability

// The durability modes.
const (
	Sync     = disk.Sync
	Interval = disk.Interval
	None     = disk.None
)

// ParseDurability returns the mode with the given name.
func ParseDurability(name string) (Durability, error) { return disk.ParseDurability(name) }

// Options configure Open.
type Options struct {
	Durability   Durability
	SyncInterval time.Duration // interval of fsyncs under Interval; 0 means DefaultSyncInterval
	FS           vfs.FS        // nil means the operating system's file system
	Log          *slog.Logger
	// Replicated opens a store without a write-ahead log. Such a store is changed by Apply, with
	// entries of the log that the nodes share. That log determines the durability.
	Replicated bool
	// Entries calls visit for the entries of the shared log with indexes in [from, to], until visit
	// returns an error. It returns an error if an entry is missing. Open calls it for a replicated
	// store if some tasks and leases are in the log only. visit keeps references to the bytes of
	// the entries.
	Entries func(from, to uint64, visit func(LogEntry) error) error
	// SyncLog, if not nil, makes the shared log durable up to the applied position, so that it
	// survives a power loss. It is called before Pebble records that effects of the log are on the
	// disk.
	SyncLog func() error
	// ReadOnly opens an existing store for reading. Open reads its log into memory and writes
	// nothing but the lock file. NewBatch must not be called.
	ReadOnly bool
	// Fatal is called with the problem when a write or fsync of the log fails. In a server it must
	// not return. Nil means that the problem is logged and the process exits with status 1.
	Fatal func(problem string)
	// Cache is the cache for blocks of tables; nil means a cache of DefaultCacheBytes for this
	// store alone.
	Cache *Cache
	// KeyFilters limits the memory of the filter of idempotency keys; nil means a limit of
	// DefaultKeyFilterBytes for this store alone.
	KeyFilters *KeyFilters
	// Space, if not nil, asks the store how much space it needs and makes its writes wait while the
	// disk is full.
	Space *Space
	// MemTableBytes is the size of a memtable; 0 means DefaultMemTableBytes. A store has up to four
	// memtables.
	MemTableBytes uint64
	// YoungBytes limits the memory, in bytes, of tasks and leases that are in the log only; 0 means
	// DefaultYoungBytes.
	YoungBytes int64
	// YoungLogBytes is the number of committed bytes after which the store makes Pebble start a new
	// log; 0 means the size of a memtable.
	YoungLogBytes int64
	// OpenTablesMax is the maximum number of open tables; 0 means 1,000. A store opens fewer than
	// 20 other files.
	OpenTablesMax int
	// Stalls, if not nil, records flushes, compactions and long fsyncs.
	Stalls *stalls.Log
	// If commits do not wait for fsync, Unsynced tracks which of them a log fsync has already made
	// durable. A replicated store does not use it; its log does.
	Unsynced unsynced.Windows
}

// Cache is a block cache that several stores share. The caller may close it once all of the stores
// are open, because each store keeps a reference to it until the store is closed.
type Cache struct{ c *pebble.Cache }

// NewCache returns a block cache for the given number of stores. memTableBytes is the size of the
// stores' memtables; 0 means DefaultMemTableBytes. See disk.NewCache for the meaning of bytes.
func NewCache(bytes int64, memTableBytes uint64, stores int) *Cache {
	return &Cache{disk.NewCache(bytes, cmp.Or(memTableBytes, DefaultMemTableBytes), stores)}
}

// Close releases the caller's reference to the cache.
func (c *Cache) Close() { c.c.Unref() }

// DefaultSyncInterval is the default interval between fsyncs of the log under Interval.
const DefaultSyncInterval = disk.DefaultSyncInterval

const (
	// DefaultMemTableBytes is large, so that the set and the SingleDelete of a task's key usually
	// meet in the same memtable. Most tasks that are completed quickly then never reach a table.
	DefaultMemTableBytes = 64 << 20
	// DefaultCacheBytes is the size of the block cache of a store without a shared cache.
	DefaultCacheBytes = 32 << 20

	memTablesStop = 4
	// walBytesPerSync limits the bytes of the log that wait for write-back by the operating system.
	walBytesPerSync = 1 << 20
)

// Store contains the keys and records of one shard. It is safe for concurrent use; a Batch is not.
type Store struct {
	database
	Reads
	durability Durability
	stalls     writeStalls
	filter     *keyFilter // filter of idempotency keys; nil in a read-only store
	space      *Space
	reclaimed  uint64 // Flushes.Committed at the last Reclaim; only Reclaim uses it
}

type counters struct {
	steps                          [stepCount]stepCounters
	read, payloads                 atomic.Uint64
	keysNew, keysFound, keysInVain atomic.Uint64
}

// Counters counts the operations of a store since it was opened.
type Counters struct {
	// Operations is the sum over all steps.
	Operations
	// Steps contains the operations of each Step.
	Steps [stepCount]Operations
	// TaskBytes counts the bytes of the task records that were read. PayloadBytes counts the
	// payload bytes that were copied from these records.
	TaskBytes, PayloadBytes uint64
	Fsyncs                  uint64 // number of fsyncs of all files
	LogFsyncs               uint64 // number of fsyncs of the write-ahead log, included in Fsyncs
	// FsyncTime is the total duration of all fsyncs, including those in the background.
	FsyncTime time.Duration
	// KeysNew counts the look-ups of idempotency keys for which the filter in memory reported that
	// the key is new. KeysFound counts the look-ups that found the key. KeysInVain counts the
	// look-ups that read the store without finding the key, because the filter reported a false
	// positive or had no memory for the key.
	KeysNew, KeysFound, KeysInVain uint64
	// KeyFilterBytes is the size of the filter in memory. KeyFilterKeys is the number of keys in
	// the filter that were added since the store was opened.
	KeyFilterBytes, KeyFilterKeys uint64
}

// Counters returns the operations so far.
func (s *Store) Counters() Counters {
	c := Counters{TaskBytes: s.count.read.Load(), PayloadBytes: s.count.payloads.Load()}
	for step := range c.Steps {
		c.Steps[step] = s.count.steps[step].load()
		c.Operations = c.Plus(c.Steps[step])
	}
	c.Fsyncs, c.FsyncTime = s.files.Fsyncs()
	c.LogFsyncs = s.files.LogSyncs()
	c.KeysNew, c.KeysFound, c.KeysInVain = s.count.keysNew.Load(), s.count.keysFound.Load(), s.count.keysInVain.Load()
	c.KeyFilterBytes, c.KeyFilterKeys = s.filter.size()
	return c
}

// Open opens the store in a folder, and creates the folder if it does not exist. It fails if
// another process has opened the store.
func Open(dir string, o Options) (*Store, error) {
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	fs = o.Space.Files(fs)
	s := &Store{
		database:   database{fs: fs, dir: dir, readOnly: o.ReadOnly, replicated: o.Replicated},
		durability: o.Durability, space: o.Space, reclaimed: neverReclaimed,
	}
	s.on = &s.database
	if planted.Hits(planted.Unsynced) {
		o.Durability = None
	}
	logger := disk.NewLog(o.Log, o.Fatal)
	var err error
	if o.ReadOnly {
		s.files, err = disk.View(fs, dir, logger)
	} else {
		s.files, err = disk.Guard(fs, dir, o.Durability, o.SyncInterval, logger)
	}
	if err != nil {
		return nil, err
	}
	cache := o.Cache
	if cache == nil {
		cache = NewCache(DefaultCacheBytes, o.MemTableBytes, 1)
		defer cache.Close()
	}
	o.MemTableBytes = cmp.Or(o.MemTableBytes, DefaultMemTableBytes)
	if !o.ReadOnly {
		if err := disk.MakeFolder(s.fs, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
		}
	}
	if err := disk.BreakSeal(s.fs, dir, o.ReadOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
	}
	if o.Replicated {
		if err := endSingle(fs, dir, o); err != nil {
			return nil, errors.Join(err, s.files.Close())
		}
	}
	lock, err := disk.Lock(dir, s.files)
	if o.ReadOnly && errors.Is(err, os.ErrNotExist) {
		err = nil // Pebble reports that the store does not exist
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.files.Close())
	}
	s.lock = lock
	var left *recovered
	listener := &pebble.EventListener{
		DataCorruption: logger.Damaged(o.ReadOnly), WriteStallBegin: s.stalls.begin, WriteStallEnd: s.stalls.end,
		FlushBegin: s.flushes.Begin, FlushEnd: s.flushes.End,
	}
	if o.YoungBytes == 0 {
		o.YoungBytes = DefaultYoungBytes
	}
	if o.YoungLogBytes == 0 {
		o.YoungLogBytes = int64(o.MemTableBytes)
	}
	s.young = &youngRecords{on: &s.database, Records: young.New(0), bytesMax: o.YoungBytes, logMax: o.YoungLogBytes}
	if o.SyncLog != nil {
		listener.FlushBegin = s.syncBefore(o.SyncLog)
	}
	if !o.Replicated {
		s.files.KeepLogs()
		if left, err = recoverYoung(s.files, dir); err == nil && !o.ReadOnly && left.found {
			err = left.save(&s.database)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.unlock(), s.files.Close())
		}
	}
	s.files.Track(o.Unsynced)
	work := o.Stalls.Store(fs.PathBase(dir))
	work.Listen(listener)
	s.files.OnLongSync(work.Fsync)
	db, err := disk.Open(dir, &pebble.Options{
		FS: s.files,
		// Do not use FormatWALSyncChunks, with which Pebble records the synced part of the log:
		// disk/synced.go explains why.
		FormatMajorVersion:          pebble.FormatColumnarBlocks,
		Cache:                       cache.c,
		Levels:                      tableFilter.levels(),
		MemTableSize:                o.MemTableBytes,
		MaxOpenFiles:                o.OpenTablesMax,
		MemTableStopWritesThreshold: memTablesStop,
		WALBytesPerSync:             walBytesPerSync,
		Logger:                      logger, // the default functions of the event listener use it
		LoggerAndTracer:             logger,
		EventListener:               listener,
		ReadOnly:                    o.ReadOnly,
		DisableWAL:                  o.Replicated,
		Lock:                        lock,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.unlock(), s.files.Close())
	}
	s.db = db
	if left != nil {
		if err := s.young.restore(left); err != nil {
			return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.db.Close(), s.unlock(), s.files.Close())
		}
	}
	floor, err := s.readPosition()
	if err == nil && o.Replicated {
		err = s.young.singleEnded()
	}
	if err == nil && (o.Replicated || floor != s.Position()) {
		err = s.young.replay(floor, o.Entries)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), s.db.Close(), s.unlock(), s.files.Close())
	}
	if !o.ReadOnly {
		if err := s.openKeyFilter(o.KeyFilters); err != nil {
			logger.Errorf("every new idempotency key reads the tables of %s: %v", dir, err)
		}
	}
	s.space.Join(s)
	return s, nil
}

// Durability returns the mode that the store was opened with.
func (s *Store) Durability() Durability { return s.durability }

// NewBatch returns an empty batch.
func (s *Store) NewBatch() *Batch {
	return &Batch{store: s, b: s.db.NewBatch()}
}

// Checkpoint writes a consistent copy of the store to the folder dir, which must not exist yet. The
// copy includes all commits that were submitted before the call. Checkpoint then reads the whole
// copy: if a file of the store is damaged, it returns a *disk.DamagedError, and the copy must not
// be used.
func (s *Store) Checkpoint(dir string) error {
	synced := s.files.SyncedLog()
	err := s.checkpoint(dir)
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

// checkpoint stores all young records before it copies the store, because Pebble does not copy the
// logs that are retained only for young records.
func (s *Store) checkpoint(dir string) error {
	release, err := s.storeYoung()
	if err != nil {
		return err
	}
	defer release()
	if s.replicated { // without a write-ahead log, a checkpoint includes only the tables
		if err := s.Flush(); err != nil {
			return err
		}
	}
	return s.db.Checkpoint(dir, pebble.WithFlushedWAL())
}

// Close flushes and closes the store. No batch may be in use.
func (s *Store) Close() error {
	s.space.Leave(s)
	s.filter.close()
	_, err := s.storeYoung()
	if err == nil && s.replicated && !s.readOnly { // so that the next start replays few entries
		err = s.Flush()
	}
	err = errors.Join(err, s.db.Close())
	if err == nil {
		err = s.young.end()
	}
	err = errors.Join(err, s.files.Close())
	if err == nil && !s.readOnly {
		err = disk.Seal(s.fs, s.dir)
	}
	return errors.Join(err, s.unlock())
}

func (s *Reads) get(key []byte) ([]byte, bool, error) {
	s.by(StepOther).gets.Add(1)
	return get(s.live(), key)
}

func get(r reader, key []byte) (value []byte, found bool, err error) {
	found, err = view(r, key, func(v []byte) error {
		value = append([]byte(nil), v...)
		return nil
	})
	return value, found, err
}

// view calls visit with the value of a key if the key exists. The value is valid only during the
// call.
func view(r reader, key []byte, visit func(v []byte) error) (found bool, err error) {
	// The young records must be read first: a record that is stored under its key between the two
	// reads is then found by the second read.
	if v, found := r.young(key); found {
		return true, visit(v)
	}
	v, closer, err := r.stored().Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read key %x: %w", key, err)
	}
	defer closeAfter(closer, &err)
	return true, visit(v)
}

func exists(r reader, key []byte) (bool, error) {
	return view(r, key, func([]byte) error { return nil })
}

func closeAfter(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
