package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// lockName names a file that a server locks while it makes a backup. It is not part of the backup.
const lockName = "LOCK"

type unfinished struct {
	path   string
	lock   io.Closer // prevents RemoveUnfinished from removing the folder
	handle *os.File  // the opened folder, to detect that the folder at path was replaced
	files  []string  // files written by the checkpoints, relative to the path, with slashes
}

// begin creates the folder of a backup. It first removes the files of an interrupted backup with
// the same name.
func begin(data, path string) (_ *unfinished, err error) {
	if err := makeFolder(data); err != nil {
		return nil, err
	}
	u := &unfinished{path: path}
	if err := removeUnfinished(path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("create the backup's folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.remove())
		}
	}()
	if u.lock, err = vfs.Default.Lock(filepath.Join(path, lockName)); err != nil {
		return nil, fmt.Errorf("lock the backup's folder: %w", err)
	}
	if u.handle, err = os.Open(path); err != nil {
		return nil, fmt.Errorf("open the backup's folder: %w", err)
	}
	if err := os.Mkdir(filepath.Join(path, storage.ShardsFolder), 0o700); err != nil {
		return nil, fmt.Errorf("create the backup's folder: %w", err)
	}
	return u, nil
}

// makeFolder creates the folder of backups in a data folder unless it exists. It fails if the data
// folder does not exist.
func makeFolder(data string) error {
	folder := filepath.Join(data, Folder)
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the data folder %s is missing: mount its file system again or move it back", data)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder of backups %s is a link to a folder that does not exist: mount or create that folder, or remove the link", folder)
	case err != nil:
		return fmt.Errorf("stat the folder of backups: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s must be the folder of backups, but is no folder: remove it", folder)
	}
	return nil
}

func (u *unfinished) checkPresent() error {
	opened, err := u.handle.Stat()
	if err != nil {
		return fmt.Errorf("stat the backup's folder: %w", err)
	}
	if now, err := os.Stat(u.path); err != nil || !os.SameFile(opened, now) {
		return fmt.Errorf("the folder of backups %s was removed, replaced or unmounted while the backup was made: make another one", filepath.Dir(u.path))
	}
	return nil
}

func (u *unfinished) cause(err error) error { return cmp.Or(u.checkPresent(), err) }

func (u *unfinished) add(shard int) error {
	names, err := filePaths(storage.ShardFolder(u.path, shard))
	for _, name := range names {
		u.files = append(u.files, filepath.ToSlash(filepath.Join(storage.ShardFolder("", shard), name)))
	}
	return err
}

func (u *unfinished) checkComplete() error {
	if err := u.checkPresent(); err != nil {
		return err
	}
	now, err := filePaths(u.path)
	if err != nil {
		return err
	}
	for _, f := range u.files {
		if _, there := slices.BinarySearch(now, f); !there {
			return fmt.Errorf("%s was removed while the backup was made: make another one", filepath.Join(u.path, filepath.FromSlash(f)))
		}
	}
	return nil
}

func (u *unfinished) finish(path string) error {
	if err := u.checkPresent(); err != nil {
		return err
	}
	if err := os.Rename(u.path, path); err != nil {
		return err
	}
	u.path = path
	return errors.Join(os.Remove(filepath.Join(path, lockName)), u.close(), disk.SyncFolder(path), disk.SyncFolder(filepath.Dir(path)))
}

func (u *unfinished) close() (err error) {
	if u.lock != nil {
		err = u.lock.Close()
		u.lock = nil
	}
	if u.handle != nil {
		err = errors.Join(err, u.handle.Close())
		u.handle = nil
	}
	return err
}

func (u *unfinished) remove() error { return errors.Join(os.RemoveAll(u.path), u.close()) }

// removeUnfinished removes the folder of an interrupted backup. It returns an error if this process
// or another process is still making the backup, because several data folders may share a folder of
// backups.
func removeUnfinished(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := vfs.Default.Lock(filepath.Join(path, lockName))
	if err != nil {
		return fmt.Errorf("the unfinished backup %s is in use: %w", path, err)
	}
	if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
		return fmt.Errorf("remove an unfinished backup: %w", err)
	}
	return nil
}

// RemoveUnfinished removes the folders of interrupted backups in a data folder and returns their
// paths. It does not remove the folders of backups that are being made. The error names the folders
// that it could not remove.
func RemoveUnfinished(data string) (removed []string, err error) {
	folder := filepath.Join(data, Folder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list unfinished backups: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, partial := strings.CutSuffix(e.Name(), partialSuffix)
		if !partial || !e.IsDir() || !validName.MatchString(name) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		if err := removeUnfinished(path); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, path)
	}
	return removed, errors.Join(errs...)
}
