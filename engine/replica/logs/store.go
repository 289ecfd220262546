package logs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Options configure the logs.
type Options struct {
	// Durability determines how durable appended entries are when StoreLogs returns. It does not
	// apply to votes, which are fsynced in every mode.
	Durability   storage.Durability
	SyncInterval time.Duration // for storage.Interval; 0 means storage.DefaultSyncInterval
	FS           vfs.FS        // nil means the operating system's file system
	Log          *slog.Logger  // nil means no log
	// Fatal is called with a description of the problem after a failed write or fsync. In a server
	// it must not return. nil means to log the problem and exit with status 1.
	Fatal func(problem string)
	// MemTableBytes is the size of each memtable in bytes; 0 means DefaultMemTableBytes. There are
	// at most two.
	MemTableBytes uint64
	// Space, if not nil, tracks the disk space that the store needs and delays the store's writes
	// while the disk is full.
	Space *storage.Space
	// Appended, if not nil, is called with the duration of each successful StoreLogs. It must not
	// block.
	Appended func(took time.Duration)
	// Stalls, if not nil, records flushes, compactions, long fsyncs and slow appends.
	Stalls *stalls.Log
	// If appends do not wait for their fsync, Unsynced tracks the entries that no fsync has made
	// durable yet. It has one window per group.
	Unsynced unsynced.Windows

	flushDelay time.Duration // tests set it; 0 means the constant flushDelay
}

const (
	// DefaultMemTableBytes is large because that reduces how much of the logs is written a second
	// time, to a table: entries that Raft truncates before their memtable is full are written only
	// once. The second column shows the measured part that is written twice, for the logs of all
	// groups together:
	//
	//	log between truncations   memtables of 32, 64, 128 MiB: written twice
	//	64 MiB                    79 %, 49 %, 22 %
	//	16 MiB                    24 %, 11 %, 4 %
	//
	// Appending 16 KiB costs 60 µs of CPU time with memtables of 64 MiB, and 36 µs with memtables
	// of 128 MiB. A new store starts with small memtables, so only a busy node uses the full size.
	DefaultMemTableBytes = 128 << 20

	memTablesStop = 2
	// cacheBytes is small, because Raft mostly reads recent entries. These are in Raft's own cache
	// or in a memtable.
	cacheBytes = 8 << 20
	// walBytesPerSync is the number of bytes of Pebble's log after which the operating system
	// starts writing its buffered data.
	walBytesPerSync = 1 << 20
	// flushDelay is the time after which an idle node flushes the memtable after a truncation, to
	// free the space of removed entries. A busy node fills a memtable sooner.
	flushDelay = 10 * time.Second
	// batchBytesMax limits the bytes of one commit, and thus its memory. StoreLogs splits larger
	// appends.
	batchBytesMax = 16 << 20
)

// Store contains the logs of all groups. It is safe for concurrent use.
type Store struct {
	db       *pebble.DB
	fs       vfs.FS      // the file system that files uses
	files    *disk.Files // applies the durability mode to fs
	dir      string
	appended func(took time.Duration)
	work     stalls.Store
	count    counters
	space    *storage.Space
	flushes  disk.Flushes

	failed atomic.Pointer[error] // the first error of a write or fsync; all later calls return it

	inUse  sync.RWMutex // read-locked during a call, write-locked while closing
	closed bool

	opening sync.Mutex // guards groups
	groups  map[uint16]*Group
}

type counters struct {
	entries, bytes, appends, appendNs atomic.Uint64
}

// Counters are totals since the store was opened.
type Counters struct {
	Entries  uint64 // entries appended
	Bytes    uint64 // bytes of the keys and records of these entries
	Appends  uint64 // calls of StoreLogs
	AppendNs uint64 // total duration of these calls in nanoseconds
	Syncs    uint64 // fsyncs of Pebble's log that reached the file system, for all groups
}

// Open opens the logs in a folder, and creates the folder if it is missing. Only one process may
// open a folder at a time.
func Open(dir string, o Options) (*Store, error) {
	s := &Store{fs: o.FS, dir: dir, appended: o.Appended, groups: map[uint16]*Group{}}
	if s.fs == nil {
		s.fs = vfs.Default
	}
	s.fs, s.space = o.Space.Files(s.fs), o.Space
	if o.MemTableBytes == 0 {
		o.MemTableBytes = DefaultMemTableBytes
	}
	if o.flushDelay == 0 {
		o.flushDelay = flushDelay
	}
	if s.appended == nil {
		s.appended = func(time.Duration) {}
	}
	if err := s.open(o); err != nil {
		return nil, fmt.Errorf("open the Raft logs in %s: %w", dir, err)
	}
	s.space.Join(s)
	return s, nil
}

func (s *Store) open(o Options) error {
	logger := disk.NewLog(o.Log, o.Fatal)
	var err error
	if s.files, err = disk.Guard(s.fs, s.dir, o.Durability, o.SyncInterval, logger); err != nil {
		return err
	}
	if err := disk.MakeFolder(s.fs, s.dir); err != nil {
		return errors.Join(err, s.files.Close())
	}
	if err := disk.BreakSeal(s.fs, s.dir, false); err != nil {
		err = fmt.Errorf("%w. A node that lost part of its Raft log may break its promises to other nodes: remove it from the cluster and have it join again with an empty data folder", err)
		return errors.Join(err, s.files.Close())
	}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	listener := &pebble.EventListener{DataCorruption: logger.Damaged(false), FlushBegin: s.flushes.Begin, FlushEnd: s.flushes.End}
	s.work = o.Stalls.Store(s.fs.PathBase(s.dir))
	s.work.Listen(listener)
	s.files.OnLongSync(s.work.Fsync)
	s.files.Track(o.Unsynced)
	options := &pebble.Options{
		FS: s.files,
		// Do not use FormatWALSyncChunks: with it, Pebble would record how far the log was synced.
		// See disk/synced.go.
		FormatMajorVersion:          pebble.FormatColumnarBlocks,
		Cache:                       cache,
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: memTablesStop,
		WALBytesPerSync:             walBytesPerSync,
		FlushDelayDeleteRange:       o.flushDelay,
		Logger:                      logger, // the defaults of the event listener use it
		LoggerAndTracer:             logger,
		EventListener:               listener,
	}
	// Do not compress tables: their entries are deleted soon, so compression is not worth its CPU
	// time. The other levels inherit this setting from the first level.
	options.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	if s.db, err = disk.Open(s.dir, options); err != nil {
		return errors.Join(err, s.files.Close())
	}
	err = s.readGroups()
	if err == nil {
		err = s.restoreVotes()
	}
	if err != nil {
		return errors.Join(err, s.closeVotes(), s.db.Close(), s.files.Close())
	}
	return nil
}

// readGroups finds the bounds of all logs. It needs only a few seeks per group.
func (s *Store) readGroups() (err error) {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; {
		if len(it.Key()) < prefixLen {
			return fmt.Errorf("the key %x does not belong to a Raft log", it.Key())
		}
		n := binary.BigEndian.Uint16(it.Key())
		g := &Group{store: s, n: n}
		s.groups[n] = g
		if err := g.readBounds(it); err != nil {
			return fmt.Errorf("group %d: %w", n, err)
		}
		if n == 1<<16-1 {
			break
		}
		ok = it.SeekGE(prefix(n+1, 0))
	}
	return it.Error()
}

func (s *Store) restoreVotes() error {
	names, err := s.files.List(s.dir)
	if err != nil {
		return fmt.Errorf("look for votes: %w", err)
	}
	for _, name := range names {
		if n, is := votesGroup(name); is {
			if err := s.Group(n).restoreVotes(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) closeVotes() (err error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	for _, g := range s.groups {
		if g.votes != nil {
			err = errors.Join(err, g.votes.Close())
		}
	}
	return err
}

// Group returns the log and stable store of a group. They are empty if the group is new. All calls
// with the same n return the same Group.
func (s *Store) Group(n uint16) *Group {
	s.opening.Lock()
	defer s.opening.Unlock()
	g := s.groups[n]
	if g == nil {
		g = &Group{store: s, n: n}
		g.bounds.Store(&bounds{})
		s.groups[n] = g
	}
	return g
}

// Counters returns the current values of the counters.
func (s *Store) Counters() Counters {
	return Counters{
		Entries: s.count.entries.Load(), Bytes: s.count.bytes.Load(),
		Appends: s.count.appends.Load(), AppendNs: s.count.appendNs.Load(), Syncs: s.files.LogSyncs(),
	}
}

// Persist returns once everything stored before the call would survive a power loss, in every mode.
func (s *Store) Persist() error {
	return s.use(func() error {
		if err := s.files.SyncLog(); err != nil {
			return s.fail(err)
		}
		return nil
	})
}

// Close waits for the calls in progress and closes the store. Later calls fail with ErrClosed.
func (s *Store) Close() error {
	s.space.Leave(s)
	s.inUse.Lock()
	defer s.inUse.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(s.closeVotes(), s.db.Close(), s.files.Close())
	if failed := s.failed.Load(); failed != nil {
		err = errors.Join(*failed, err)
	}
	if err == nil {
		err = disk.Seal(s.fs, s.dir)
	}
	if err != nil {
		return fmt.Errorf("close the Raft logs in %s: %w", s.dir, err)
	}
	return nil
}

// use calls do. The store is not closed until do returns.
func (s *Store) use(do func() error) error {
	s.inUse.RLock()
	defer s.inUse.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return do()
}

// fail records the first error; all later calls of the store return it. In a server, the process
// has already ended because of the failed write or fsync. Only tests continue.
func (s *Store) fail(err error) error {
	s.failed.CompareAndSwap(nil, &err)
	return err
}

// commit applies a batch and returns once the batch is as durable as the mode requires.
func (s *Store) commit(b *pebble.Batch) error {
	err := s.apply(b)
	if err == nil {
		err = b.SyncWait()
	}
	if err != nil {
		return s.fail(err)
	}
	return b.Close()
}

// write applies a batch that a later commit makes durable.
func (s *Store) write(b *pebble.Batch) error {
	if err := s.guarded(b, func() error { return s.db.Apply(b, pebble.NoSync) }); err != nil {
		return err
	}
	return b.Close()
}

// apply applies a batch and does not wait for the commit. The caller waits separately, because
// Pebble reports an error of its log only then.
func (s *Store) apply(b *pebble.Batch) error {
	return s.guarded(b, func() error { return s.db.ApplyNoSyncWait(b, pebble.Sync) })
}

// guarded converts a panic of Pebble to an error. Pebble panics on each write after a write to its
// log has failed.
func (s *Store) guarded(b *pebble.Batch, apply func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write to Pebble's log: %v", p)
		}
	}()
	s.flushes.Commit(b.Len())
	return apply()
}

// Unflushed implements disk.SpaceUser.
func (s *Store) Unflushed() uint64 { return s.flushes.Unflushed(s.db) }

// Reclaim implements disk.SpaceUser. It does nothing: Pebble's next flush and compaction reclaim
// the space of removed entries without a request. A flush now would need additional space for the
// remaining entries.
func (s *Store) Reclaim(context.Context, uint64) error { return nil }

// Files implements disk.SpaceUser.
func (s *Store) Files() *disk.Files { return s.files }

func (s *Store) get(key []byte) (value []byte, found bool, err error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = append(make([]byte, 0, len(v)), v...)
	return value, true, closer.Close()
}
