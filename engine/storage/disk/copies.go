package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// DamagedError reports that a file of a store, or of a copy of a store, has changed since it was
// written.
type DamagedError struct {
	File    string
	Problem string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the file %s is damaged: %s", e.File, e.Problem)
}

// CheckCopy checks all files of a sealed copy of a store. names lists the files in the copy's
// folder. Each file must match the seal, and each block of each table must match its checksum.
// CheckCopy reads every byte and returns the first damage as a *DamagedError. open returns the
// content of a file, and a function that closes the file.
func CheckCopy(names []string, open func(name string) (*io.SectionReader, func() error, error)) error {
	if !slices.Contains(names, sealName) {
		return &DamagedError{sealName, "it is missing"}
	}
	var text []byte
	err := withFile(sealName, open, func(content *io.SectionReader) (err error) {
		text, err = io.ReadAll(content)
		return err
	})
	if err != nil {
		return err
	}
	lines, err := sealLines(string(text))
	if err != nil {
		return err
	}
	was := make(map[string]string, len(lines))
	for _, line := range lines {
		was[sealedName(line)] = line
	}
	for _, name := range names {
		if !sealed(name) {
			continue
		}
		if was[name] == "" {
			return &DamagedError{name, "the copied store had no such file"}
		}
		if err := withFile(name, open, func(content *io.SectionReader) error { return checkFile(name, was[name], content) }); err != nil {
			return err
		}
		delete(was, name)
	}
	for name := range was {
		return &DamagedError{name, "it is missing"}
	}
	return nil
}

// CheckCopyIn runs CheckCopy on the files of a folder.
func CheckCopyIn(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err == nil {
		err = CheckCopy(names, func(name string) (*io.SectionReader, func() error, error) {
			f, err := fs.Open(fs.PathJoin(dir, name))
			if err != nil {
				return nil, nil, err
			}
			info, err := f.Stat()
			if err != nil {
				return nil, nil, errors.Join(err, f.Close())
			}
			return io.NewSectionReader(f, 0, info.Size()), f.Close, nil
		})
	}
	if err != nil {
		return fmt.Errorf("check the copy in %s: %w", dir, err)
	}
	return nil
}

func withFile(name string, open func(string) (*io.SectionReader, func() error, error), do func(*io.SectionReader) error) error {
	content, closeFile, err := open(name)
	if err == nil {
		err = errors.Join(do(content), closeFile())
	}
	return err
}

func checkFile(name, was string, content *io.SectionReader) error {
	is, err := describe(name, content.Size(), content)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if is != was {
		return &DamagedError{name, "it has changed since the store was copied"}
	}
	switch {
	case strings.HasSuffix(name, tableSuffix):
		err = checkTable(content)
	case strings.HasPrefix(name, manifestPrefix):
		err = checkCopiedManifest(content)
	}
	if err != nil {
		return &DamagedError{name, err.Error()}
	}
	return nil
}

func checkCopiedManifest(content *io.SectionReader) error {
	all, err := io.ReadAll(io.NewSectionReader(content, 0, content.Size()))
	if err != nil {
		return err
	}
	if at, damaged := damagedRecord(all); damaged {
		return fmt.Errorf("the content is wrong from byte %d on", at)
	}
	return nil
}

func checkTable(content *io.SectionReader) (err error) {
	end, err := lastBytes(content, content.Size())
	if err != nil {
		return err
	}
	if err := checkFormat(end); err != nil {
		return err
	}
	var o pebble.Options
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), table{content}, o.MakeReaderOptions())
	if err != nil {
		return err
	}
	defer closeAfter(r, &err)
	return r.ValidateBlockChecksums()
}

type table struct{ content *io.SectionReader }

var _ objstorage.Readable = table{}

// ReadAt implements objstorage.Readable.
func (t table) ReadAt(_ context.Context, p []byte, at int64) error {
	n, err := t.content.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	return err
}

// Close implements objstorage.Readable.
func (table) Close() error { return nil }

// Size implements objstorage.Readable.
func (t table) Size() int64 { return t.content.Size() }

// NewReadHandle implements objstorage.Readable.
func (t table) NewReadHandle(objstorage.ReadBeforeSize) objstorage.ReadHandle {
	h := objstorage.MakeNoopReadHandle(t)
	return &h
}
