package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// SpaceState states which commands are refused because of the free space of a disk. A higher state
// refuses more commands.
type SpaceState uint32

// The states.
const (
	// SpaceOK refuses no commands.
	SpaceOK SpaceState = iota
	// SpaceLow refuses commands that would grow the store: those that add tasks or large results.
	SpaceLow
	// SpaceCritical refuses all changes. It allows reads, and the writes that a cluster needs to
	// elect and confirm a leader.
	SpaceCritical
	// SpaceExhausted applies below half of the critical mark. It refuses what SpaceCritical
	// refuses, and a follower in a cluster stores no further changes in its log.
	SpaceExhausted
)

// String returns the state in one word.
func (s SpaceState) String() string {
	switch s {
	case SpaceOK:
		return "ok"
	case SpaceLow:
		return "low"
	case SpaceCritical:
		return "critical"
	case SpaceExhausted:
		return "exhausted"
	}
	return fmt.Sprintf("unknown state %d", uint32(s))
}

const (
	// SpaceRetry is the retry delay after a refusal for lack of space.
	SpaceRetry = time.Second

	// spacePollFar is the interval between readings of the free space while it is more than
	// spaceFar bytes above the low mark; otherwise the interval is spacePollNear. During
	// spacePollFar a server writes much less than spaceFar bytes. During spacePollNear it writes
	// much less than the difference between the default marks.
	spacePollNear = 100 * time.Millisecond
	spacePollFar  = time.Second
	spaceFar      = 4 << 30
	// reclaimEvery is the interval between attempts of the stores to reclaim space while the free
	// space is low.
	reclaimEvery = 3 * time.Second
)

// SpaceUser is a store that will need disk space for data that is still in memory, and that can
// reclaim the space of deleted records. Its methods must be safe for concurrent use, except that
// only one goroutine at a time calls Reclaim.
type SpaceUser interface {
	// Unflushed returns how many bytes the store will write to tables even if there are no further
	// commits.
	Unflushed() uint64
	// Reclaim frees the space of deleted records. It must not temporarily need more than room
	// bytes, in addition to the bytes of Unflushed. If room is 0, it writes nothing. It returns
	// early when ctx ends.
	Reclaim(ctx context.Context, room uint64) error
	// Files returns the files of the store.
	Files() *Files
}

// SpaceOptions configure WatchSpace.
type SpaceOptions struct {
	// FS is the file system; nil means the operating system's file system. If it does not report
	// its free space, the free space is not watched.
	FS vfs.FS
	// Dir is the data folder, which must exist. WatchSpace watches its file system.
	Dir string
	// Low and Critical are the marks below which SpaceLow and SpaceCritical apply. A critical mark
	// that is higher than the low mark is reduced to the low mark.
	Low, Critical Mark
	// Ballast is the number of bytes that the stores need in order to open on a full disk: each
	// store writes the content of its log to tables before Pebble removes the log. The size of the
	// ballast file is the lesser of Ballast and the critical mark. 0 means 64 MiB.
	Ballast uint64
	// Log is the logger for changes of the state; nil discards the messages.
	Log *slog.Logger
	// Changed, if not nil, is called after each change of the state. Calls do not overlap. It must
	// not block.
	Changed func(SpaceState)
	// Fatal is called with the problem when the data folder or a file of a store is missing. In a
	// server it must not return. Nil means that the problem is logged and the process exits with
	// status 2.
	Fatal func(problem string)
}

// Space watches the free space of a data folder's file system and decides which commands are
// allowed. It ends the process if another process removes or replaces the data folder or a file of
// a store, or if the file system becomes read-only. Its methods are safe for concurrent use.
// Growth, Changes and CheckPresent are fast, because they read only memory. A nil Space allows all
// commands.
type Space struct {
	o       SpaceOptions
	ballast ballast
	folder  *heldFolder // nil if it cannot be watched
	loss    loss        // the loss of the data folder or of a store in it

	state   atomic.Uint32
	usage   atomic.Pointer[SpaceUsage]
	growth  atomic.Pointer[FullError] // the result of Growth
	changes atomic.Pointer[FullError] // the result of Changes
	refused [SpaceExhausted + 1]atomic.Uint64
	waitMax atomic.Int64 // the argument of BoundWaits, in ns

	publishing sync.Mutex // guards the fields below, up to unread
	own        SpaceState // the state according to the free space of this disk alone
	full       int        // number of writes that found the disk full and wait for room
	floor      SpaceState // see Floor
	floorWhy   string
	unread     string // the error of the last reading of the free space; "" if it succeeded

	// using is read-locked while a method of a user is called, and locked while a user joins or
	// leaves.
	using sync.RWMutex
	users map[SpaceUser]struct{}

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// SpaceUsage is a reading of the free space. The zero value means that the free space is unknown.
type SpaceUsage struct {
	Total uint64 // size of the file system in bytes
	Free  uint64 // free bytes that this process may use
	// Available is compared with the marks. It is Free minus the bytes that the stores will need
	// for their data in memory. While Free is at least Low plus spaceFar, nothing is subtracted.
	Available     uint64
	Low, Critical uint64 // the marks in bytes; 0 means off
}

// WatchSpace starts to watch a data folder. It returns after the first reading of the free space.
func WatchSpace(o SpaceOptions) *Space {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Space{o: o, users: map[SpaceUser]struct{}{}}
	s.ballast.fs, s.ballast.path, s.ballast.most = o.FS, o.FS.PathJoin(o.Dir, BallastFile), cmp.Or(o.Ballast, ballastDefault)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.usage.Store(&SpaceUsage{})
	if folder, err := holdFolder(o.FS, o.Dir); err != nil {
		o.Log.Warn("the data folder can't be watched: its removal will not be detected", "error", err)
	} else {
		s.folder = folder
		s.work.Go(func() { s.every(lookEvery, s.lookForData) })
	}
	known := s.measure()
	s.ballast.begin(s.o.Log, s.Usage())
	if !known {
		return s
	}
	s.measure()
	s.work.Go(s.watch)
	s.work.Go(func() { s.every(reclaimEvery, s.reclaim) })
	return s
}

// Close stops the watching. Writes that wait for room fail. The ballast is not removed, because the
// server needs it at the next start.
func (s *Space) Close() {
	if s == nil {
		return
	}
	s.cancel()
	s.work.Wait()
	if s.folder == nil {
		return
	}
	if err := s.folder.close(); err != nil {
		s.o.Log.Warn("close the data folder", "error", err)
	}
}

// State returns the current state.
func (s *Space) State() SpaceState {
	if s == nil {
		return SpaceOK
	}
	return SpaceState(s.state.Load())
}

// Own returns the state that follows from the free space of this node's disk, without the state set
// with Floor.
func (s *Space) Own() SpaceState {
	if s == nil {
		return SpaceOK
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	return s.ownStateLocked()
}

func (s *Space) ownStateLocked() SpaceState {
	if s.full > 0 {
		return max(s.own, SpaceCritical)
	}
	return s.own
}

// Usage returns the last reading of the free space.
func (s *Space) Usage() SpaceUsage {
	if s == nil {
		return SpaceUsage{}
	}
	return *s.usage.Load()
}

// Growth returns nil if the store may grow; otherwise it returns a *FullError.
func (s *Space) Growth() error {
	if s == nil {
		return nil
	}
	if e := s.growth.Load(); e != nil {
		return e
	}
	return nil
}

// Changes returns nil if the store may change; otherwise it returns a *FullError.
func (s *Space) Changes() error {
	if s == nil {
		return nil
	}
	if e := s.changes.Load(); e != nil {
		return e
	}
	return nil
}

// Why returns the text of the error of refused commands, or "" if no commands are refused.
func (s *Space) Why() string {
	if err := cmp.Or(s.Changes(), s.Growth()); err != nil {
		return err.Error()
	}
	return ""
}

// CountRefusals adds n to the number of refused commands, if err is an error that Growth or Changes
// returned.
func (s *Space) CountRefusals(err error, n int) {
	var full *FullError
	if errors.As(err, &full) {
		s.refused[full.State].Add(uint64(n))
	}
}

// Refusals returns how many commands were refused while the state was low, and while it was
// critical.
func (s *Space) Refusals() (low, critical uint64) {
	return s.refused[SpaceLow].Load(), s.refused[SpaceCritical].Load() + s.refused[SpaceExhausted].Load()
}

// Floor sets the minimum state and its reason, even if this node has enough free space. The leader
// of a cluster calls it when followers lack space. SpaceOK removes the minimum.
func (s *Space) Floor(state SpaceState, why string) {
	if s == nil {
		return
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.floor != state || s.floorWhy != why {
		s.floor, s.floorWhy = state, why
		s.publishLocked()
	}
}

// Join adds a store. The caller must call Leave before it closes the store. While it calls Leave,
// it must not hold a lock that the store's methods may wait for.
func (s *Space) Join(u SpaceUser) {
	if s == nil {
		return
	}
	s.using.Lock()
	defer s.using.Unlock()
	s.users[u] = struct{}{}
	u.Files().failStop.loss.Store(&s.loss)
}

// Leave removes a store. It returns when no call of the store's methods is under way.
func (s *Space) Leave(u SpaceUser) {
	if s == nil {
		return
	}
	s.using.Lock()
	defer s.using.Unlock()
	delete(s.users, u)
}

func (s *Space) every(interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		do()
	}
}

func (s *Space) watch() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-timer.C:
		}
		s.measure()
		if s.Own() == SpaceOK {
			s.ballast.restore(s.o.Log, s.Usage())
		}
		every := spacePollNear
		if u := s.Usage(); u.Available > u.Low+spaceFar {
			every = spacePollFar
		}
		timer.Reset(every)
	}
}

// measure reads the free space and updates the state. It returns false if the file system does not
// report its free space. After any other error it does not change the state: if the folder is
// missing, lookForData detects this.
func (s *Space) measure() bool {
	usage, err := s.o.FS.GetDiskUsage(s.o.Dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return false
	}
	s.logUnread(err)
	if err != nil {
		return true
	}
	u := SpaceUsage{Total: usage.TotalBytes, Free: usage.AvailBytes, Available: usage.AvailBytes}
	u.Low, u.Critical = Marks(s.o.Low, s.o.Critical, u.Total)
	if u.Free < u.Low+spaceFar {
		u.Available -= min(u.Available, s.unflushed())
	}
	s.usage.Store(&u)
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.own = judge(s.own, &u)
	s.publishLocked()
	return true
}

// logUnread logs once when the free space can no longer be read, and once when it can be read
// again.
func (s *Space) logUnread(err error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch text {
	case s.unread:
	case "":
		s.o.Log.Info("the free space of the data folder's file system can be read again", "folder", s.o.Dir)
	default:
		s.o.Log.Warn("the free space of the data folder's file system can't be read", "folder", s.o.Dir, "error", err)
	}
	s.unread = text
}

// Ballast returns the size of the ballast in bytes. It returns 0 if there is no ballast, because
// the free space is unknown or the critical mark is off.
func (s *Space) Ballast() uint64 {
	if s == nil {
		return 0
	}
	return s.ballast.size(s.Usage())
}

func (s *Space) unflushed() (bytes uint64) {
	s.using.RLock()
	defer s.using.RUnlock()
	for u := range s.users {
		bytes += u.Unflushed()
	}
	return bytes
}

// hysteresis is a divisor: a state ends only when the available space exceeds the state's mark by
// 1/hysteresis of the mark.
const hysteresis = 10

// judge returns the state for a reading. was is the previous state, which ends only with
// hysteresis.
func judge(was SpaceState, u *SpaceUsage) SpaceState {
	marks := [...]uint64{SpaceLow: u.Low, SpaceCritical: u.Critical, SpaceExhausted: u.Critical / 2}
	for s := SpaceExhausted; s > SpaceOK; s-- {
		mark := marks[s]
		if was >= s {
			mark += mark / hysteresis
		}
		if u.Available < mark {
			return s
		}
	}
	return SpaceOK
}

// publishLocked updates state, growth and changes. It logs and reports a change of the state.
func (s *Space) publishLocked() {
	was := SpaceState(s.state.Load())
	now := max(s.ownStateLocked(), s.floor)
	var growth, changes *FullError
	if now > SpaceOK {
		growth = s.refusalLocked(now)
	}
	if now >= SpaceCritical {
		changes = growth
	}
	s.growth.Store(growth)
	s.changes.Store(changes)
	if was == now {
		return
	}
	s.state.Store(uint32(now))
	if now == SpaceOK {
		s.o.Log.Info("enough disk space is free again: the server accepts all commands", "free", s.Usage().Free)
	} else {
		s.o.Log.Warn("too little disk space is free", "was", was, "now", now, "free", s.Usage().Free, "reason", growth.Error())
	}
	if s.o.Changed != nil {
		s.o.Changed(now)
	}
}

func (s *Space) reclaim() {
	if s.Own() == SpaceOK {
		return
	}
	s.measure() // another program may have filled the disk since the last reading
	s.using.RLock()
	users := slices.Collect(maps.Keys(s.users))
	s.using.RUnlock()
	for _, u := range users {
		// Lock for each store separately, so that Leave waits for only one Reclaim.
		s.using.RLock()
		var err error
		if _, here := s.users[u]; here {
			err = u.Reclaim(s.ctx, s.Usage().Available)
		}
		s.using.RUnlock()
		if err != nil && s.ctx.Err() == nil {
			s.o.Log.Warn("could not reclaim disk space; the server tries again", "error", err)
		}
	}
}
