package disk

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// timeResolution is longer than the resolution of modification times in file systems. If a
	// folder changes twice within this time, the second change may leave its modification time
	// unchanged.
	timeResolution = 3 * time.Second
	// listEvery is the interval between listings of the folder during timeResolution after a
	// change. Not every look lists the folder, because a listing allocates a string for each file.
	// A loss is still detected within a second.
	listEvery = 600 * time.Millisecond
)

// presence tracks the files of a store, to detect that another process removed or replaced a file.
// The store calls drop before it removes or renames a file, and add after it created a file. So if
// a tracked file is missing, another process removed it. presence is safe for concurrent use,
// except that only one goroutine at a time may call look.
type presence struct {
	fs *failStopFS

	mu sync.Mutex
	// names contains the tracked files. The value of a name is the number of its file (see added),
	// which differs between successive files of the same name. names is nil before begin.
	names map[string]uint64
	added uint64                     // number of files added so far, including dropped files
	logs  map[*failStopFile]struct{} // open logs whose identity is known

	folder *heldFolder // set by begin

	// Only look uses the following fields.
	modTime time.Time // modification time of the folder at the last look
	settled time.Time // a change of the folder after this time would have changed modTime
	// listed is the time of the last listing since modTime changed, or zero if there was no
	// listing.
	listed time.Time
	looked []*failStopFile // reused by each look
}

// lasting reports whether a file is created, removed and renamed only through failStopFS. This is
// not the case for SYNCED, SEAL and temporary files.
func lasting(name string) bool {
	return name != syncedName && !strings.HasPrefix(name, sealName) && !strings.HasSuffix(name, newSuffix)
}

// begin tracks all files of a locked store. The folder must not change during the call.
func (p *presence) begin() error {
	folder, err := holdFolder(p.fs.FS, p.fs.dir)
	if err != nil {
		return err
	}
	list, err := p.fs.List(p.fs.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("list the files of the store: %w", err), folder.close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folder, p.names = folder, map[string]uint64{}
	for _, name := range list {
		p.addLocked(name)
	}
	return nil
}

// end closes the folder. No call of look may be under way.
func (p *presence) end() error {
	p.mu.Lock()
	folder := p.folder
	p.folder, p.names = nil, nil
	p.mu.Unlock()
	if folder == nil {
		return nil
	}
	return folder.close()
}

func (p *presence) addLocked(name string) {
	if p.names != nil && lasting(name) {
		p.added++
		p.names[name] = p.added
	}
}

func (p *presence) add(path string) {
	if p.fs.PathDir(path) == p.fs.dir {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.addLocked(p.fs.PathBase(path))
	}
}

// drop stops tracking a file that the store is about to remove, rename or replace.
func (p *presence) drop(path string) {
	if p.fs.PathDir(path) == p.fs.dir {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.names, p.fs.PathBase(path))
	}
}

// opened tracks an open log. It reads the identity of the log now, because look may run while the
// log is being closed, and must not call methods of a closed file.
func (p *presence) opened(f *failStopFile) {
	info, err := f.File.Stat()
	if err != nil {
		return // checkNames still detects the removal of the log
	}
	identity, known := identityOf(info)
	if !known {
		return
	}
	f.identity = identity
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs[f] = struct{}{}
}

func (p *presence) closed(f *failStopFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.logs, f)
}

func (p *presence) look() error {
	p.mu.Lock()
	folder := p.folder
	p.looked = p.looked[:0]
	p.looked = slices.AppendSeq(p.looked, maps.Keys(p.logs))
	p.mu.Unlock()
	if folder == nil {
		return nil
	}
	info, err := folder.look()
	if err != nil || info == nil {
		return err
	}
	for _, log := range p.looked {
		if err := p.checkIdentity(log); err != nil {
			return err
		}
	}
	now := time.Now()
	if at := info.ModTime(); !at.Equal(p.modTime) {
		p.modTime, p.settled, p.listed = at, now.Add(timeResolution), time.Time{}
	}
	if folder.known && (p.listed.After(p.settled) || now.Sub(p.listed) < listEvery) {
		return nil
	}
	return p.checkNames(now)
}

func (p *presence) checkIdentity(f *failStopFile) error {
	at, err := p.fs.Stat(f.name)
	if err != nil {
		return nil //nolint:nilerr // checkNames detects a missing file
	}
	identity, known := identityOf(at)
	if !known || identity == f.identity {
		return nil
	}
	p.mu.Lock()
	_, open := p.logs[f]
	p.mu.Unlock()
	if !open {
		return nil // the store may have put another file at this path
	}
	return &GoneError{f.name, "was replaced by another file while the server ran", fileRemedy}
}

func (p *presence) checkNames(now time.Time) error {
	list, err := p.fs.List(p.fs.dir)
	if isTransient(err) {
		return nil // the next look lists the folder
	}
	if err != nil {
		return &GoneError{p.fs.dir, fmt.Sprintf("can't be read any more (%v)", err), folderRemedy}
	}
	p.listed = now
	slices.Sort(list)
	missing := p.without(list)
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		path := p.fs.PathJoin(p.fs.dir, name)
		if _, err := p.fs.Stat(path); errors.Is(err, os.ErrNotExist) && p.has(name, missing[name]) {
			return &GoneError{path, "was removed while the server ran", fileRemedy}
		}
	}
	return nil
}

// without returns the tracked files that are not in the sorted list. The store may have created
// some of them after the folder was listed.
func (p *presence) without(list []string) map[string]uint64 {
	missing := map[string]uint64{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, added := range p.names {
		if _, found := slices.BinarySearch(list, name); !found {
			missing[name] = added
		}
	}
	return missing
}

func (p *presence) has(name string, added uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name] == added
}
