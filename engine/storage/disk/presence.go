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

// folderSettles is for how long after a change of a folder's time the folder is listed: a later
// change within the resolution of that time does not show in it.
const folderSettles = 3 * time.Second

// listEvery is how often a folder is listed in that time: a list makes a string of each name.
const listEvery = 600 * time.Millisecond

// presence is what a store has in its folder, to find out whether somebody else removed a part of
// it. A name is dropped before its file is removed or renamed, and added after the file was made,
// so a file whose name is there is missing only if somebody else took it. presence is safe for
// concurrent use; look is called by one goroutine at a time.
type presence struct {
	fs *failStopFS

	mu    sync.Mutex
	names map[string]uint64              // the value tells a file from a later one of the same name; nil before begin
	added uint64                         // names so far
	logs  map[*failStopFile]fileIdentity // logs that are open

	folder *heldFolder // set by begin
	// Used by look alone.
	changed     time.Time // the folder's time
	changedSeen time.Time // when that was first seen
	listed      time.Time // the last list
	looked      []openLog
}

// openLog is a log that is open, and which file it is.
type openLog struct {
	file *failStopFile
	is   fileIdentity
}

// lasting reports whether a file stays until the store removes it through its file system. The
// others are written beside it, or are of use at the next start only.
func lasting(name string) bool {
	return name != syncedName && !strings.HasPrefix(name, sealName) && !strings.HasSuffix(name, newSuffix)
}

// begin notes what is in the folder of a locked store, which nobody changes at that time.
func (p *presence) begin() error {
	folder, err := holdFolder(p.fs.FS, p.fs.dir)
	if err != nil {
		return err
	}
	list, err := p.fs.List(p.fs.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("look for the files of the store: %w", err), folder.close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.folder, p.names = folder, map[string]uint64{}
	for _, name := range list {
		p.addLocked(name)
	}
	return nil
}

// end gives up the folder. No call of look is under way.
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

// add notes a file that was made, if it is one of the store.
func (p *presence) add(path string) {
	if p.fs.PathDir(path) == p.fs.dir {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.addLocked(p.fs.PathBase(path))
	}
}

// drop forgets a file that the store is about to remove, rename or replace.
func (p *presence) drop(path string) {
	if p.fs.PathDir(path) == p.fs.dir {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.names, p.fs.PathBase(path))
	}
}

// opened and closed note which logs are open. A log is identified when it is opened: look runs beside its Close, and a closed file
// must not be asked.
func (p *presence) opened(f *failStopFile) {
	info, err := f.File.Stat()
	if err != nil {
		return // lookForNames watches the name
	}
	is, known := identityOf(info)
	if !known {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logs == nil {
		p.logs = map[*failStopFile]fileIdentity{}
	}
	p.logs[f] = is
}

func (p *presence) closed(f *failStopFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.logs, f)
}

// look returns a *GoneError if the folder, or a file in it, is not there any more or was replaced.
func (p *presence) look() error {
	p.mu.Lock()
	folder := p.folder
	p.looked = p.looked[:0]
	for f, is := range p.logs {
		p.looked = append(p.looked, openLog{f, is})
	}
	p.mu.Unlock()
	if folder == nil {
		return nil
	}
	info, err := folder.look()
	if err != nil || info == nil {
		return err
	}
	for _, l := range p.looked {
		if err := p.lookAtLog(l.file, l.is); err != nil {
			return err
		}
	}
	if folder.known {
		switch at := info.ModTime(); {
		case !at.Equal(p.changed):
			p.changed, p.changedSeen = at, time.Now()
		case time.Since(p.changedSeen) > folderSettles || time.Since(p.listed) < listEvery && p.listed.Sub(p.changedSeen) >= 0:
			return nil
		}
	}
	p.listed = time.Now()
	return p.lookForNames()
}

// lookAtLog returns an error if another file has the path of an open log. A log that was renamed
// meanwhile is not at that path.
func (p *presence) lookAtLog(f *failStopFile, is fileIdentity) error {
	at, err := p.fs.Stat(f.name)
	if err != nil {
		return nil //nolint:nilerr // lookForNames finds out
	}
	other, known := identityOf(at)
	p.mu.Lock()
	_, stillOpen := p.logs[f]
	p.mu.Unlock()
	if known && other != is && stillOpen {
		return &GoneError{f.name, "was replaced by another file while the server ran", fileRemedy}
	}
	return nil
}

// lookForNames returns an error if a file is missing.
func (p *presence) lookForNames() error {
	p.mu.Lock()
	names := maps.Clone(p.names) // from before the list
	p.mu.Unlock()
	list, err := p.fs.List(p.fs.dir)
	if passes(err) {
		p.changed = time.Time{} // the next look lists the folder
		return nil
	}
	if err != nil {
		return &GoneError{p.fs.dir, fmt.Sprintf("can't be read any more (%v)", err), folderRemedy}
	}
	for _, name := range list {
		delete(names, name)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !p.has(name, names[name]) {
			continue
		}
		path := p.fs.PathJoin(p.fs.dir, name)
		if _, err := p.fs.Stat(path); errors.Is(err, os.ErrNotExist) && p.has(name, names[name]) {
			return &GoneError{path, "was removed while the server ran", fileRemedy}
		}
	}
	return nil
}

// has reports whether the store still has a file.
func (p *presence) has(name string, added uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name] == added
}
