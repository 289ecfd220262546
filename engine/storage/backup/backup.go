package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Folder is the name of the folder of backups in a data folder.
const Folder = "backups"

// partialSuffix is the suffix of the folder's name until the backup is complete. The name of a
// backup cannot contain it.
const partialSuffix = ".partial"

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Make creates a backup of a data folder in backups/NAME and returns its path. If name is empty,
// the name is derived from the time m.CreatedAtMs. checkpoint must write the checkpoint of a shard
// to the folder dir, which does not exist yet. Make renames the backup's folder to its final name
// only when the backup is complete and the folder still contains all files that checkpoint wrote.
// After an error, Make removes the folder. After a crash, RemoveUnfinished or the next backup with
// the same name removes it.
//
// Only one call at a time may create a backup with the same name.
func Make(ctx context.Context, data, name string, m Manifest, checkpoint func(shard int, dir string) error) (path string, _ Manifest, err error) {
	if name == "" {
		name = time.UnixMilli(m.CreatedAtMs).UTC().Format("20060102T150405Z")
	}
	if !validName.MatchString(name) {
		return "", m, &NameError{name}
	}
	path = filepath.Join(data, Folder, name)
	if _, err := os.Lstat(path); err == nil {
		return "", m, fmt.Errorf("%s: %w", path, ErrExists)
	}
	partial, err := begin(data, path+partialSuffix)
	if err != nil {
		return "", m, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, partial.remove())
		}
	}()
	for shard := range m.Shards {
		if err := ctx.Err(); err != nil {
			return "", m, err
		}
		// A checkpoint would create a missing folder again.
		if err := partial.checkPresent(); err != nil {
			return "", m, err
		}
		to := storage.ShardFolder(partial.path, shard)
		if err := checkpoint(shard, to); err != nil {
			return "", m, fmt.Errorf("shard %d: %w", shard, partial.cause(err))
		}
		if err := partial.add(shard); err != nil {
			return "", m, partial.cause(err)
		}
	}
	if m, err = writeManifest(ctx, partial.path, m); err != nil {
		return "", m, partial.cause(err)
	}
	if err := partial.checkComplete(); err != nil {
		return "", m, err
	}
	if err := errors.Join(partial.finish(path), disk.SyncFolder(data)); err != nil {
		return "", m, fmt.Errorf("finish the backup: %w", err)
	}
	return path, m, nil
}
