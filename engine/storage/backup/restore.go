package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/fsck"
)

// restoringFolder is the name of the folder, inside a new data folder, that Restore copies the
// files to. While it exists, the data folder is incomplete.
const restoringFolder = "restoring"

// lostAndFound is a folder that some file systems have in their root.
const lostAndFound = "lost+found"

// CheckDataFolder returns an error for a folder that a server must not use as its data folder: an
// unfinished restore, or a backup, which the server would change. It accepts a folder that does not
// exist.
func CheckDataFolder(dir string) error {
	for name, problem := range map[string]string{
		restoringFolder: "holds a restore that did not finish: remove its content, and run 'queued restore' again",
		ManifestName:    "is a backup: restore it to a data folder with 'queued restore', or choose another folder",
	} {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
			return fmt.Errorf("data folder %s %s", dir, problem)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("check the data folder: %w", err)
		}
	}
	return nil
}

// Restored is the result of Restore.
type Restored struct {
	Manifest Manifest
	Holding  fsck.Holding // total of all shards
}

// Restore creates a data folder from a backup. It never writes to the backup. It copies all files
// and checks their checksums, and verifies each store of the copy. It then reserves the ids and
// tokens that the server may have issued since the backup. The data folder must be empty or not
// exist. A server accepts it only after the last step. On an error, or when ctx ends, Restore
// removes the copy. at, which may be nil, receives the progress.
func Restore(ctx context.Context, backup, data string, at *Progress) (r Restored, err error) {
	if r.Manifest, err = readManifest(backup); err != nil {
		return r, err
	}
	at.begin(&r.Manifest)
	if err := checkApart(backup, data); err != nil {
		return r, err
	}
	made, err := makeEmpty(data)
	if err != nil {
		return r, err
	}
	collected := filepath.Join(data, restoringFolder)
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, os.RemoveAll(collected))
		if made {
			err = errors.Join(err, os.Remove(data))
		}
	}()
	if err := os.Mkdir(collected, 0o700); err != nil {
		return r, fmt.Errorf("create the data folder: %w", err)
	}
	if err := disk.SyncFolder(data); err != nil {
		return r, fmt.Errorf("create the data folder: %w", err)
	}
	if err := r.Manifest.copyTo(ctx, backup, collected, at); err != nil {
		return r, err
	}
	var problems []error
	for shard := range r.Manifest.Shards {
		at.checking(shard + 1)
		h, err := fsck.Verify(ctx, storage.ShardFolder(collected, shard))
		if err != nil {
			problems = append(problems, err)
		}
		r.Holding.Queues += h.Queues
		r.Holding.Tasks += h.Tasks
	}
	if len(problems) > 0 {
		return r, errors.Join(problems...)
	}
	ago := time.Since(time.UnixMilli(r.Manifest.CreatedAtMs))
	for shard := range r.Manifest.Shards {
		if err := reserveNumbers(storage.ShardFolder(collected, shard), ago); err != nil {
			return r, err
		}
	}
	if err := storage.WriteLayout(collected, r.Manifest.Shards); err != nil {
		return r, err
	}
	return r, release(collected, data)
}

// reserveNumbers reserves, in the store in dir, the ids, tokens and queue numbers that may have
// been issued since its backup. ago is the time since the backup.
func reserveNumbers(dir string, ago time.Duration) (err error) {
	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	from, err := s.Recover()
	if err == nil {
		from.Reserved, err = from.AfterRestore(s.Position().Term, uint64(max(0, ago).Milliseconds()))
	}
	if err != nil {
		return fmt.Errorf("the store in %s: %w", dir, err)
	}
	b := s.NewBatch()
	b.PutReserved(from.Reserved)
	c, err := b.Submit()
	if err == nil {
		err = c.Wait()
	}
	if err == nil {
		err = s.Flush() // a replicated store has no write-ahead log
	}
	if err != nil {
		return fmt.Errorf("the store in %s: reserve numbers: %w", dir, err)
	}
	return nil
}

func checkApart(backup, data string) error {
	b, err := resolve(backup)
	if err != nil {
		return fmt.Errorf("find the backup: %w", err)
	}
	d, err := resolve(data)
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	if relative, err := filepath.Rel(b, d); err == nil && filepath.IsLocal(relative) {
		return fmt.Errorf("data folder %s is in the backup: choose one outside of it", data)
	}
	return nil
}

// resolve returns the absolute path of a folder after following links. The folder need not exist.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		parent, err := resolve(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return resolved, err
}

// makeEmpty creates the data folder, or checks that an existing folder is empty. It removes the
// files of an interrupted restore. made reports whether it created the folder.
func makeEmpty(data string) (made bool, err error) {
	err = os.Mkdir(data, 0o700)
	if err == nil {
		if err := disk.SyncFolder(filepath.Dir(filepath.Clean(data))); err != nil {
			return true, fmt.Errorf("create the data folder: %w", errors.Join(err, os.Remove(data)))
		}
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("create the data folder: %w", err)
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return false, fmt.Errorf("check the data folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lostAndFound && e.Name() != restoringFolder {
			return false, fmt.Errorf("data folder %s is not empty, it has %s: choose a new one", data, e.Name())
		}
	}
	if err := os.RemoveAll(filepath.Join(data, restoringFolder)); err != nil {
		return false, fmt.Errorf("remove an interrupted restore: %w", err)
	}
	return false, nil
}

func (m *Manifest) copyTo(ctx context.Context, from, to string, at *Progress) error {
	for _, f := range m.Files {
		path := filepath.Join(to, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("restore %s: %w", f.Path, err)
		}
	}
	copies := fileCopies{at: at}
	err := m.verifyFiles(ctx, from, func(path string) io.Writer {
		return copies.next(filepath.Join(to, filepath.FromSlash(path)))
	})
	if finished := copies.finish(); err == nil { // otherwise err already includes it
		err = finished
	}
	return err
}

// fileCopies writes one file after another. After the first error it writes nothing more, and
// returns that error.
type fileCopies struct {
	at  *Progress
	f   *os.File
	err error
}

func (c *fileCopies) next(path string) io.Writer {
	if c.finish() == nil {
		c.f, c.err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return c
}

func (c *fileCopies) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.f.Write(p)
	c.at.copiedMore(n)
	return n, err
}

func (c *fileCopies) finish() error {
	if c.f != nil {
		c.err = errors.Join(c.err, c.f.Sync(), c.f.Close())
		c.f = nil
	}
	return c.err
}

// release moves the copied files into the data folder and removes the folder of the restore. A
// server accepts the data folder afterwards.
func release(collected, data string) error {
	err := filepath.WalkDir(collected, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return disk.SyncFolder(path)
	})
	if err != nil {
		return fmt.Errorf("sync the data folder: %w", err)
	}
	entries, err := os.ReadDir(collected)
	if err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(collected, e.Name()), filepath.Join(data, e.Name())); err != nil {
			return fmt.Errorf("finish the restore: %w", err)
		}
	}
	if err := disk.SyncFolder(data); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	if err := errors.Join(os.Remove(collected), disk.SyncFolder(data)); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	return nil
}
