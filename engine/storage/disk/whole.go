package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WriteWhole writes a file atomically, even across a power loss. The file can be read only by its
// owner.
func WriteWhole(path string, text []byte) error {
	tmp := path + ".tmp"
	// An existing temporary file may have another mode.
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(tmp)))
	}
	return SyncFolder(filepath.Dir(path))
}

// ReadBounded returns the content of a file, or an error if the file is longer than most bytes.
func ReadBounded(path string, most int64) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}

// SyncFolder is SyncDir on the operating system's file system.
func SyncFolder(path string) error { return SyncDir(vfs.Default, path) }
