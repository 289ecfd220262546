package disk

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BeforeManifest sets a function that runs before each write to the manifest. Such a write may
// record that a memtable is in tables. If these tables depend on a log that Pebble does not manage,
// before must make that log durable. BeforeManifest must be called before the Pebble database is
// opened.
func (f *Files) BeforeManifest(before func() error) {
	f.FS = manifestFS{f.FS, f.failStop.dir, before}
}

type manifestFS struct {
	vfs.FS
	dir    string
	before func() error
}

func (fs manifestFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	if err == nil && fs.PathDir(name) == fs.dir && strings.HasPrefix(fs.PathBase(name), manifestPrefix) {
		return lateManifest{f, fs.before}, nil
	}
	return f, err
}

func (fs manifestFS) Unwrap() vfs.FS { return fs.FS }

// lateManifest is a manifest whose writes wait for before. Pebble writes the manifest in the
// background, or when it opens a store.
type lateManifest struct {
	vfs.File
	before func() error
}

func (f lateManifest) Write(b []byte) (int, error) {
	if err := f.before(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}
