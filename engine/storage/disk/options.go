package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// optionsPrefix is the prefix of the names of Pebble's options files.
const optionsPrefix = "OPTIONS-"

// checkOptions returns an error that names the newest options file if Pebble would reject it.
// Pebble's error does not name the file.
func checkOptions(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the store's options files: %w", err)
	}
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, optionsPrefix) && !strings.Contains(name, ".") {
			newest = max(newest, name)
		}
	}
	if newest == "" {
		return nil // a new store
	}
	path := fs.PathJoin(dir, newest)
	text, err := readFile(fs, path)
	if err != nil {
		return fmt.Errorf("read the store's options: %w", err)
	}
	var o pebble.Options
	o.EnsureDefaults()
	if err := o.CheckCompatibility(dir, text); err != nil {
		return &DamagedError{path, err.Error() + ": restore a backup"}
	}
	return nil
}
