package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Under Interval and None Pebble may start a log before the previous log is complete on the disk. A
// power loss could then preserve the later log, but lose the end of the earlier log. Pebble would
// refuse to open such a store, or replay the later log after a gap. Only a commit that waits for
// fsyncs could prevent this. Therefore such a log has a pending name, which contains the number of
// the log before it:
//
//	000012.log.after-000009
//
// It is renamed to its final name, 000012.log, once the log before it and the folder entry of that
// log are on the disk. If the process is killed, all logs are complete, and the next start renames
// the pending logs. After a power loss, the next start removes the pending logs that follow a log
// whose end is missing. This is allowed, because the durability mode does not promise that their
// commits survive a power loss.
const pendingInfix = ".after-"

// pendingName returns the pending path of the log with the final path path. after is the number of
// the log before it.
func pendingName(path string, after uint64) string {
	return fmt.Sprintf("%s%s%06d", path, pendingInfix, after)
}

type pendingLog struct {
	file, name    string // the current name and the final name
	number, after uint64
}

func parsePending(file string) (p pendingLog, ok bool) {
	name, after, ok := strings.Cut(file, pendingInfix)
	if !ok {
		return p, false
	}
	number, _, ok := wal.ParseLogFilename(name)
	if !ok {
		return p, false
	}
	n, err := strconv.ParseUint(after, 10, 64)
	return pendingLog{file, name, uint64(number), n}, err == nil
}

// pendingLogs returns the pending logs of a folder, ascending. The logs in kept continue the log
// before them without a gap; the logs in dropped do not.
func pendingLogs(fs vfs.FS, dir string) (kept, dropped []pendingLog, err error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list the pending logs: %w", err)
	}
	var found []pendingLog
	path := map[uint64]string{} // path of each log, by number
	for _, name := range names {
		if p, ok := parsePending(name); ok {
			found = append(found, p)
		} else if n, _, ok := wal.ParseLogFilename(name); ok {
			path[uint64(n)] = fs.PathJoin(dir, name)
		}
	}
	slices.SortFunc(found, func(a, b pendingLog) int { return cmp.Compare(a.number, b.number) })
	for _, p := range found {
		before := path[p.after]
		whole := before != "" && path[p.number] == "" // a power loss may leave both names
		if whole {
			if whole, err = hasEnd(fs, before, p.after); err != nil {
				return nil, nil, err
			}
		}
		if whole {
			path[p.number] = fs.PathJoin(dir, p.file)
			kept = append(kept, p)
		} else {
			dropped = append(dropped, p)
		}
	}
	return kept, dropped, nil
}

// hasEnd reports whether a log ends with the trailer that Pebble writes when it closes a log, and
// is intact up to the trailer.
func hasEnd(fs vfs.FS, path string, number uint64) (whole bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return false, fmt.Errorf("find the end of a log: %w", err)
	}
	defer closeAfter(f, &err)
	block := make([]byte, logBlock)
	for {
		n, err := io.ReadFull(f, block)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, fmt.Errorf("find the end of the log %s: %w", path, err)
		}
		at, ended := wholeChunks(block[:n], uint32(number))
		if ended || at < logBlock {
			return ended, nil
		}
	}
}

// HasEnd reports whether a log is intact and ends with the trailer that Pebble writes when it
// closes a log. If the store was not closed cleanly, its newest log has no trailer.
func (f *Files) HasEnd(log string, number uint64) (bool, error) { return hasEnd(f, log, number) }

// SyncLogs fsyncs closed logs and their folder.
func SyncLogs(fs vfs.FS, dir string, logs []string) error {
	for _, path := range logs {
		if err := syncFile(fs, path); err != nil {
			return fmt.Errorf("fsync the log %s: %w", path, err)
		}
	}
	if err := SyncDir(fs, dir); err != nil {
		return fmt.Errorf("fsync the folder of the logs: %w", err)
	}
	return nil
}

// settlePending renames pending logs to their final names, and removes those that follow a gap. The
// caller must hold the store's lock.
func settlePending(fs vfs.FS, dir string) error {
	kept, dropped, err := pendingLogs(fs, dir)
	if err != nil {
		return err
	}
	for _, p := range dropped {
		if err := fs.Remove(fs.PathJoin(dir, p.file)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove a log that follows a gap: %w", err)
		}
	}
	for _, p := range kept {
		if err := SyncLogs(fs, dir, []string{fs.PathJoin(dir, logName(p.after))}); err != nil {
			return err
		}
		if err := fs.Rename(fs.PathJoin(dir, p.file), fs.PathJoin(dir, p.name)); err != nil {
			return fmt.Errorf("rename a pending log: %w", err)
		}
	}
	if len(kept) > 0 || len(dropped) > 0 {
		if err := SyncDir(fs, dir); err != nil {
			return fmt.Errorf("fsync the folder of the logs: %w", err)
		}
	}
	return nil
}

func logName(number uint64) string { return fmt.Sprintf("%06d%s", number, walSuffix) }

func syncFile(fs vfs.FS, path string) (err error) {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer closeAfter(f, &err)
	return f.Sync()
}

// pendingView is a view of a store's folder that looks as if settlePending had been called, but it
// changes no file.
type pendingView struct {
	vfs.FS
	dir string
	// files maps the final names of the pending logs that settlePending would rename to their
	// current names.
	files map[string]string
}

func viewPending(fs vfs.FS, dir string) (*pendingView, error) {
	v := &pendingView{FS: fs, dir: dir, files: map[string]string{}}
	kept, _, err := pendingLogs(fs, dir)
	for _, p := range kept {
		v.files[p.name] = p.file
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the store does not exist
	}
	return v, err
}

func (v *pendingView) List(dir string) ([]string, error) {
	names, err := v.FS.List(dir)
	if v.PathJoin(dir) != v.dir {
		return names, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		_, pending := parsePending(name)
		return pending
	})
	for name := range v.files {
		names = append(names, name)
	}
	return names, err
}

func (v *pendingView) path(name string) string {
	if file, ok := v.files[v.PathBase(name)]; ok && v.PathDir(name) == v.dir {
		return v.PathJoin(v.dir, file)
	}
	return name
}

func (v *pendingView) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return v.FS.Open(v.path(name), o...)
}

func (v *pendingView) Stat(name string) (vfs.FileInfo, error) { return v.FS.Stat(v.path(name)) }

func (v *pendingView) Unwrap() vfs.FS { return v.FS }
