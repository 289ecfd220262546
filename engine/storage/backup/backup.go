package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Folder is where, in a data folder, backups are made.
const Folder = "backups"

// partialSuffix ends the name of a backup's folder until it is whole. No backup's name can end so.
const partialSuffix = ".partial"

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// NameError says that a name can't be a backup's.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf(`%.80q is not 1 to 64 letters, digits, "-" and "_"`, e.Name)
}

// ErrExists says that there is a backup of that name.
var ErrExists = errors.New("there is a backup of this name: name another, or remove it")

// Make makes a backup in a data folder, under backups/NAME, and returns its path. An empty name means the time, which
// is m.CreatedAtMs. checkpoint writes the checkpoint of a shard into a folder that does not exist. The backup is there
// whole or not at all: what an error or a crash leaves is removed, at the latest by the next backup of the name.
//
// One call at a time may make a backup of a name.
func Make(ctx context.Context, data, name string, m Manifest, checkpoint func(shard int, dir string) error) (path string, _ Manifest, err error) {
	if name == "" {
		name = time.UnixMilli(m.CreatedAtMs).UTC().Format("20060102T150405Z")
	}
	if !validName.MatchString(name) {
		return "", m, &NameError{name}
	}
	path = filepath.Join(data, Folder, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", m, errors.Join(fmt.Errorf("%s: %w", path, ErrExists), err)
	}
	partial := path + partialSuffix
	if err := os.RemoveAll(partial); err != nil {
		return "", m, fmt.Errorf("remove an unfinished backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if err := os.MkdirAll(filepath.Join(partial, storage.ShardsFolder), 0o700); err != nil {
		return "", m, fmt.Errorf("make the backup's folder: %w", err)
	}
	for shard := range m.Shards {
		if err := ctx.Err(); err != nil {
			return "", m, err
		}
		if err := checkpoint(shard, storage.ShardFolder(partial, shard)); err != nil {
			return "", m, fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	if m, err = WriteManifest(ctx, partial, m); err != nil {
		return "", m, err
	}
	if err := errors.Join(os.Rename(partial, path), disk.SyncFolder(filepath.Dir(path)), disk.SyncFolder(data)); err != nil {
		return "", m, fmt.Errorf("finish the backup: %w", err)
	}
	return path, m, nil
}
