package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Files and folders of a soak's folder.
const (
	lockFile   = "lock"
	stateFile  = "state.json"
	rowsFile   = "rows.jsonl"
	windowsDir = "windows"
	serversDir = "servers"
	// PageFile is the page that shows the result of a soak so far.
	PageFile = "report.html"
)

// stateVersion is the version of state.json.
const stateVersion = 1

// state is everything that a soak stores except its rows.
type state struct {
	Version  int    `json:"version"`
	Scenario string `json:"scenario"`
	// Configuration is the value of scenario.Configuration. It identifies what is measured.
	Configuration string `json:"configuration"`
	// Manifest describes the first start of the servers. Before that start it contains only the
	// scenario.
	Manifest  result.Manifest `json:"manifest"`
	Described bool            `json:"described,omitempty"` // whether Manifest is complete
	Started   time.Time       `json:"started"`
	Starts    int             `json:"starts"` // number of starts of the harness
	// Number and total size of the deleted results of single windows.
	DeletedWindows int   `json:"deleted_windows,omitempty"`
	DeletedBytes   int64 `json:"deleted_bytes,omitempty"`
}

// folder is the folder of a soak, opened and locked.
type folder struct {
	path  string
	lock  *os.File
	state state
	rows  *rows
	// resumed reports whether the folder contained a soak that an earlier process had started.
	resumed bool
}

// openFolder opens and locks the folder of a soak of s. If the path is empty or does not exist, it
// starts a new soak. Otherwise the folder must contain an unfinished soak of the same
// configuration.
func openFolder(path string, s *scenario.Scenario, now time.Time) (_ *folder, err error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the soak: %w", err)
	}
	f := &folder{path: path}
	if f.lock, err = lockFolder(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err := f.checkUnfinished(s.Name); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.file(stateFile))
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = f.begin(s, now)
	case err == nil:
		err = f.resume(data, s)
	default:
		err = fmt.Errorf("read the state of the soak: %w", err)
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{windowsDir, serversDir} {
		if err := os.MkdirAll(f.file(dir), 0o755); err != nil {
			return nil, fmt.Errorf("make a folder of the soak: %w", err)
		}
	}
	if err := f.removeRest(); err != nil {
		return nil, err
	}
	f.state.Starts++
	if err := f.storeState(); err != nil {
		return nil, err
	}
	f.rows, err = openRows(f.file(rowsFile), rowsMax)
	return f, err
}

// lockWait bounds the time that lockFolder waits for a lock, and lockPause is the time between two
// tries. If a process is killed while it starts a child, the child holds the lock for a moment,
// until it executes its own program.
const (
	lockWait  = time.Second
	lockPause = 10 * time.Millisecond
)

// lockFolder locks a folder against other processes. The lock lasts until the file is closed or
// this process ends.
func lockFolder(path string) (*os.File, error) {
	name := filepath.Join(path, lockFile)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the soak: %w", err)
	}
	lock := func() error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	err = lock()
	for began := time.Now(); err != nil && time.Since(began) < lockWait; err = lock() {
		time.Sleep(lockPause)
	}
	if err != nil {
		owner, _ := os.ReadFile(name) // used only to improve the error
		err = errors.Join(fmt.Errorf("the folder %s is in use by another prony (process %s): wait for its end, or name another folder", path,
			strings.TrimSpace(string(owner))), file.Close())
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of the soak: %w", err), file.Close())
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the folder of the soak: %w", err), file.Close())
	}
	return file, nil
}

func (f *folder) checkUnfinished(name string) error {
	has, err := result.IsSoak(f.path)
	if err != nil || !has {
		return err
	}
	done, err := result.ReadSoak(f.path)
	if err != nil {
		return err
	}
	return fmt.Errorf("the folder %s holds a soak of %q that is finished, verdict %s: name another folder for a soak of %q", f.path, done.Scenario, done.Verdict, name)
}

// begin starts a soak in an empty folder.
func (f *folder) begin(s *scenario.Scenario, now time.Time) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("read the folder of the soak: %w", err)
	}
	for _, e := range entries {
		// If a process was killed, a temporary file of the first state may remain.
		if e.Name() != lockFile && !strings.HasPrefix(e.Name(), "."+stateFile) {
			return fmt.Errorf("the folder %s holds %s and no soak: name an empty folder, or one that does not exist", f.path, e.Name())
		}
	}
	f.state = state{
		Version: stateVersion, Scenario: s.Name, Configuration: s.Configuration(), Manifest: result.Manifest{Scenario: *s}, Started: now.UTC(),
	}
	return nil
}

func (f *folder) resume(data []byte, s *scenario.Scenario) error {
	path := f.file(stateFile)
	if err := json.Unmarshal(data, &f.state); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	switch {
	case f.state.Version > stateVersion:
		return fmt.Errorf("read %s: it has version %d and this program reads %d: use a newer prony", path, f.state.Version, stateVersion)
	case f.state.Scenario != s.Name:
		return fmt.Errorf("the folder %s holds a soak of %q, not of %q: name another folder", f.path, f.state.Scenario, s.Name)
	case f.state.Configuration != s.Configuration():
		differences := scenario.Differences(&f.state.Manifest.Scenario, s)
		what := "its settings changed"
		if len(differences) > 0 {
			what = differences[0].String()
		}
		return fmt.Errorf("the folder %s holds a soak of %q with another configuration: %s: name another folder, or undo the change", f.path, s.Name, what)
	}
	f.resumed = true
	return nil
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) storeState() error {
	data, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the soak: %w", err)
	}
	return result.WriteFile(f.file(stateFile), append(data, '\n'))
}

// describe stores the manifest of the first start of the servers. Later calls do nothing.
func (f *folder) describe(m result.Manifest) error {
	if f.state.Described {
		return nil
	}
	f.state.Manifest, f.state.Described = m, true
	return f.storeState()
}

func (f *folder) close() (err error) {
	if f.rows != nil {
		err = f.rows.close()
	}
	return errors.Join(err, f.lock.Close())
}

func (f *folder) windowFile(number int) string {
	return filepath.Join(f.file(windowsDir), fmt.Sprintf("%08d.json", number))
}

// store stores the whole result of a window and then its row. In this order a missing row can be
// restored, and no window counts twice.
func (f *folder) store(w *Window) error {
	w.Version = windowVersion
	row, err := newRow(w)
	if err != nil {
		return err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode window %d: %w", w.Number, err)
	}
	if err := result.WriteFile(f.windowFile(w.Number), append(data, '\n')); err != nil {
		return err
	}
	return f.rows.add(row)
}

// restore adds the missing row of a window whose whole result was stored before the harness ended.
// It returns false if there is no such window.
func (f *folder) restore() (bool, error) {
	number := f.rows.last() + 1
	path := f.windowFile(number)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read window %d: %w", number, err)
	}
	var w Window
	if err := json.Unmarshal(data, &w); err != nil {
		return false, fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	if w.Number != number || w.Version != windowVersion {
		return false, fmt.Errorf("read %s: corrupt: it is window %d in version %d", path, w.Number, w.Version)
	}
	row, err := newRow(&w)
	if err != nil {
		return false, fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	return true, f.rows.add(row)
}

// prune deletes results of single windows. It first deletes those that are older than keep allows.
// Then it deletes the oldest ones while their total size exceeds the size that keep allows. It
// never deletes the latest one, because restore needs it.
func (f *folder) prune(keep scenario.SoakKeep, now time.Time) error {
	entries, err := os.ReadDir(f.file(windowsDir)) // sorted by name, and therefore by number
	if err != nil {
		return fmt.Errorf("read the results of windows: %w", err)
	}
	type stored struct {
		path  string
		bytes int64
		at    time.Time
	}
	var all []stored
	sum := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("read the results of windows: %w", err)
		}
		all = append(all, stored{filepath.Join(f.file(windowsDir), e.Name()), info.Size(), info.ModTime()})
		sum += info.Size()
	}
	deleted := 0
	for _, s := range all[:max(0, len(all)-1)] {
		if sum <= keep.Bytes && now.Sub(s.at) <= keep.Age {
			break
		}
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("delete an old window: %w", err)
		}
		sum -= s.bytes
		deleted++
		f.state.DeletedWindows++
		f.state.DeletedBytes += s.bytes
	}
	if deleted == 0 {
		return nil
	}
	return f.storeState()
}

// removeRest deletes temporary files that remain in the folder because their writer was killed.
func (f *folder) removeRest() error {
	for _, dir := range []string{f.path, f.file(windowsDir)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("read the folder of the soak: %w", err)
		}
		for _, e := range slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !isRest(e.Name()) }) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove an unfinished file: %w", err)
			}
		}
	}
	return nil
}

func isRest(name string) bool { return strings.HasPrefix(name, ".") && strings.Contains(name, ".tmp-") }
