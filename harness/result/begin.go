package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DataDir is the folder of the servers' data of a run or of an arm. It exists only during
// measurement.
const DataDir = "data"

// measuringFile marks a folder that a process measures into. The process holds a lock on the file,
// which the kernel releases when the process ends for any reason.
const measuringFile = ".measuring"

// Begin creates the folder of a run as Create does, and marks it as being measured until release is
// called or this process ends. It also removes servers' data that killed processes left in out, and
// writes a line for each to progress, which may be nil.
func Begin(out, id string, progress io.Writer) (f *Folder, release func() error, err error) {
	if f, err = Create(out, id); err != nil {
		return nil, nil, err
	}
	abandoned, err := removeAbandoned(out)
	if progress != nil {
		for _, folder := range abandoned {
			// Progress is informational, so errors do not matter.
			_, _ = fmt.Fprintf(progress, "removed the servers' data in %s: the process that measured there was killed\n", folder)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("remove the data of runs that were killed: %w", err)
	}
	if release, err = f.hold(); err != nil {
		return nil, nil, fmt.Errorf("create run folder: %w", err)
	}
	return f, release, nil
}

// hold creates the folder's measuringFile and locks it. It renames the file to its final name only
// after it has the lock, so another process never finds the file unlocked.
func (f *Folder) hold() (release func() error, err error) {
	file, err := os.CreateTemp(f.Path(), measuringFile+".tmp-*")
	if err != nil {
		return nil, err
	}
	path := f.File(measuringFile)
	if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return func() error { return errors.Join(os.Remove(path), file.Close()) }, nil
}

// removeAbandoned removes the servers' data from those folders in out whose measuringFile is not
// locked. It returns these folders.
func removeAbandoned(out string) (folders []string, err error) {
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		folder := filepath.Join(out, entry.Name())
		removed, err := removeIfAbandoned(folder)
		if err != nil {
			return folders, err
		}
		if removed {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

func removeIfAbandoned(folder string) (removed bool, err error) {
	file, dead := measuring(folder)
	if file == nil {
		return false, nil
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !dead {
		return false, nil
	}
	arms, err := fs.Glob(os.DirFS(folder), "*/"+DataDir)
	if err != nil {
		return false, err
	}
	for _, dir := range append(arms, DataDir) {
		if err := os.RemoveAll(filepath.Join(folder, dir)); err != nil {
			return false, err
		}
	}
	return true, os.Remove(filepath.Join(folder, measuringFile))
}

// measuring opens the measuringFile of a folder; file is nil if there is none. If the process that
// measured there has died, dead is true and the caller holds the lock until it closes the file.
func measuring(folder string) (file *os.File, dead bool) {
	file, err := os.Open(filepath.Join(folder, measuringFile))
	if err != nil {
		return nil, false
	}
	return file, unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func beingMeasured(folder string) bool {
	file, dead := measuring(folder)
	if file == nil {
		return false
	}
	_ = file.Close() // opened for reading only
	return !dead
}
