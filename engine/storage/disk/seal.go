package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A store that was closed cleanly is sealed: the file SEAL lists the sizes and checksums of the
// store's files. BreakSeal checks and removes the seal before the store is opened. Pebble alone
// could not distinguish a damaged end of its log or manifest from an end that was never written,
// and it ignores both. Tables contain checksums, so the seal lists only their sizes:
//
//	queued store seal 1
//	SIZE CRC32C NAME        one line per file; "-" instead of the checksum for a table
//	…
//	CRC32C                  of all preceding lines
const (
	sealName  = "SEAL"
	sealTitle = "queued store seal 1"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed reports whether the seal lists a file. It does not list SYNCED, which a sealed store does
// not need.
func sealed(name string) bool {
	return name != "LOCK" && name != syncedName && !strings.HasPrefix(name, sealName)
}

// Seal seals the closed store in a folder.
func Seal(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("seal the store: %w", err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, sealTitle)
	for _, name := range names {
		if !sealed(name) {
			continue
		}
		is, err := describeIn(fs, dir, name)
		if err != nil {
			return fmt.Errorf("seal the store: %w", err)
		}
		fmt.Fprintln(&b, is)
	}
	fmt.Fprintf(&b, "%08x\n", crc32.Checksum([]byte(b.String()), castagnoli))
	if err := writeFile(fs, dir, sealName, b.String()); err != nil {
		return fmt.Errorf("seal the store: %w", err)
	}
	return nil
}

// tableSuffix is the suffix of the names of Pebble's tables.
const tableSuffix = ".sst"

func describe(name string, size int64, content io.Reader) (line string, err error) {
	if strings.HasSuffix(name, tableSuffix) {
		return fmt.Sprintf("%d - %s", size, name), nil
	}
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, content)
	return fmt.Sprintf("%d %08x %s", n, sum.Sum32(), name), err
}

func describeIn(fs vfs.FS, dir, name string) (line string, err error) {
	path := fs.PathJoin(dir, name)
	info, err := fs.Stat(path)
	if err != nil {
		return "", err
	}
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	defer closeAfter(f, &err)
	return describe(name, info.Size(), f)
}

// newSuffix is the suffix of the name of a file until its content is complete.
const newSuffix = ".new"

func writeFile(fs vfs.FS, dir, name, text string) error {
	temp, path := fs.PathJoin(dir, name+newSuffix), fs.PathJoin(dir, name)
	f, err := fs.Create(temp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(temp, path); err != nil {
		return err
	}
	return SyncDir(fs, dir)
}

// WriteIn writes a file of a store atomically, even across a power loss.
func WriteIn(fs vfs.FS, dir, name, text string) error {
	if err := writeFile(fs, dir, name, text); err != nil {
		return fmt.Errorf("write %s: %w", fs.PathJoin(dir, name), err)
	}
	return nil
}

// SyncDir fsyncs a folder, which makes its directory entries durable.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// BreakSeal checks the seal of a store before the store is opened, and removes the seal unless
// readOnly is true. A store without a seal is new or was not closed cleanly. In this case,
// BreakSeal checks its log and manifest up to the lengths in SYNCED, and the formats of its tables
// and options.
func BreakSeal(fs vfs.FS, dir string, readOnly bool) error {
	path := fs.PathJoin(dir, sealName)
	text, err := readFile(fs, path)
	if errors.Is(err, os.ErrNotExist) {
		if err := checkManifest(fs, dir); err != nil {
			return err
		}
		if err := checkTables(fs, dir); err != nil {
			return err
		}
		if err := checkOptions(fs, dir); err != nil {
			return err
		}
		return checkLog(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("read the store's seal: %w", err)
	}
	if err := checkSeal(fs, dir, text); err != nil {
		return fmt.Errorf("%w: restore a backup, or remove %s to open the remaining data", err, path)
	}
	if err := checkTables(fs, dir); err != nil {
		return err
	}
	if readOnly {
		return nil
	}
	// The seal must be removed before any file of the store changes.
	if err := fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("break the store's seal: %w", err)
	}
	if err := SyncDir(fs, dir); err != nil {
		return fmt.Errorf("break the store's seal: %w", err)
	}
	return nil
}

func sealLines(text string) ([]string, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || lines[0] != sealTitle {
		return nil, &DamagedError{sealName, "it does not begin with the title of a seal"}
	}
	files, sum, end := lines[1:len(lines)-2], lines[len(lines)-2], lines[len(lines)-1]
	body := strings.TrimSuffix(text, sum+"\n"+end)
	if sum != fmt.Sprintf("%08x", crc32.Checksum([]byte(body), castagnoli)) || end != "" {
		return nil, &DamagedError{sealName, "it does not match its checksum"}
	}
	return files, nil
}

func sealedName(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }

func checkSeal(fs vfs.FS, dir, text string) error {
	lines, err := sealLines(text)
	if err != nil {
		return err
	}
	for _, was := range lines {
		name := sealedName(was)
		is, err := describeIn(fs, dir, name)
		if err != nil {
			return fmt.Errorf("a file of the closed store can't be read: %w", err)
		}
		if is != was {
			return &DamagedError{name, "it has changed since the store was closed"}
		}
	}
	return nil
}

func readFile(fs vfs.FS, path string) (text string, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	defer closeAfter(f, &err)
	all, err := io.ReadAll(f)
	return string(all), err
}

func closeAfter(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
