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

// Folder is the folder of a data folder that has its backups.
const Folder = "backups"

// partialSuffix ends the name of a backup's folder until the backup is complete. No name of a backup can have the suffix.
const partialSuffix = ".partial"

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Make makes a backup in a data folder, in backups/NAME, and returns its path. An empty name means
// the time m.CreatedAtMs. checkpoint writes the checkpoint of a shard into a folder that does not
// exist. The backup appears under its name only when it is complete, and only if the folder still
// has all files that checkpoint wrote. Make removes the folder after an error; RemoveUnfinished and
// the next backup of the name remove it after a crash.
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
		if err := partial.checkPresent(); err != nil { // the checkpoint would create the folder again
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
