package disk

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// MakeFolder creates a folder, and its missing parents, with permissions for the owner only. When
// it returns, the directory entries of all of these folders survive a power loss. It also fsyncs
// the entry of a folder that exists, because the process that created the folder may have died
// before it fsynced the entry.
func MakeFolder(fs vfs.FS, path string) error {
	type entry struct {
		parent string
		made   bool
	}
	var entries []entry
	for folder, made := path, true; made; folder = fs.PathDir(folder) {
		_, err := fs.Stat(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("check the folder %s: %w", folder, err)
		}
		made = err != nil
		entries = append(entries, entry{fs.PathDir(folder), made})
	}
	if err := fs.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("create the folder %s: %w", path, err)
	}
	for _, e := range entries {
		err := SyncDir(fs, e.parent)
		if errors.Is(err, os.ErrPermission) && !e.made {
			continue // the folder already existed, in a parent that this process may not read
		}
		if err != nil {
			return fmt.Errorf("fsync the folder %s: %w", e.parent, err)
		}
	}
	return nil
}
