// Package artifact takes the results of runs out of an archive, as CI services hand out what a job has uploaded. An archive comes from
// elsewhere, so it is bounded in size and entries, and no name in it decides where anything is written.
package artifact

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// bounds are what an archive may hold at most.
type bounds struct {
	entries   int
	runs      int
	fileBytes int64 // of one file that is taken
	bytes     int64 // of all that are taken
	unpacked  int64 // of the whole archive, where the rest must be unpacked to get at them
}

var usual = bounds{entries: 100_000, runs: 256, fileBytes: 256 << 20, bytes: 1 << 30, unpacked: 8 << 30}

// Is reports whether a path is named like an archive that Unpack reads: .zip, .tar.gz or .tgz.
func Is(name string) bool { return isZip(name) || isTar(name) }

func isZip(name string) bool { return strings.HasSuffix(name, ".zip") }

func isTar(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// Unpack writes the result and the histograms of each complete run in the archive into a folder of its own below dir, which exists, and returns
// the folders in the order of the runs' names in the archive. The runs may lie at any depth. Left out are links, and the arms of comparisons,
// which are no runs of their own. It fails if the archive holds no run, has names that lead out of it, or is beyond a bound: 100,000 entries,
// 256 runs, 256 MiB in a file and 1 GiB in all that it takes.
func Unpack(archive, dir string) (runs []string, err error) { return unpack(archive, dir, usual) }

func unpack(archive, dir string, limits bounds) ([]string, error) {
	u := unpacker{dir: dir, limits: limits, folders: map[string]*folder{}}
	each := u.zip
	if isTar(archive) {
		each = u.tar
	}
	if err := each(archive); err != nil {
		return nil, fmt.Errorf("read the archive %s: %w", archive, err)
	}
	runs, err := u.complete()
	if err != nil {
		return nil, fmt.Errorf("read the archive %s: %w", archive, err)
	}
	return runs, nil
}

// unpacker is the work of one Unpack.
type unpacker struct {
	dir     string
	limits  bounds
	entries int
	bytes   int64
	folders map[string]*folder // by their names in the archive
	arms    []string           // folders of comparisons
}

// folder is one that a run may be in.
type folder struct {
	path  string // where it is written
	files []string
}

func (u *unpacker) zip(name string) (err error) {
	z, err := zip.OpenReader(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	for _, f := range z.File {
		if err := u.entry(f.Name, f.Mode().IsRegular(), f.Open); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(name string) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	t := tar.NewReader(&bounded{r: unzipped, left: u.limits.unpacked})
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(t), nil }
		if err := u.entry(header.Name, header.Typeflag == tar.TypeReg, open); err != nil {
			return err
		}
	}
}

// entry takes one entry of the archive if it is wanted.
func (u *unpacker) entry(name string, regular bool, open func() (io.ReadCloser, error)) error {
	if u.entries++; u.entries > u.limits.entries {
		return fmt.Errorf("it has more than %d entries", u.limits.entries)
	}
	if strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("its entry %.200q leads out of it", name)
	}
	clean := path.Clean(name)
	parent, base := path.Dir(clean), path.Base(clean)
	switch {
	case !regular:
		return nil
	case base == result.ComparisonFile || base == result.DuetFile:
		u.arms = append(u.arms, parent)
		return nil
	case base != result.ResultFile && base != result.HistogramsFile:
		return nil
	}
	f := u.folders[parent]
	if f == nil {
		if len(u.folders) == u.limits.runs {
			return fmt.Errorf("it has more than %d runs", u.limits.runs)
		}
		f = &folder{path: filepath.Join(u.dir, strconv.Itoa(len(u.folders)))}
		if err := os.Mkdir(f.path, 0o700); err != nil {
			return err
		}
		u.folders[parent] = f
	}
	if slices.Contains(f.files, base) {
		return fmt.Errorf("it has %.200q twice", clean)
	}
	f.files = append(f.files, base)
	from, err := open()
	if err != nil {
		return fmt.Errorf("its entry %.200q: %w", clean, err)
	}
	err = u.write(filepath.Join(f.path, base), from)
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("its entry %.200q: %w", clean, err)
	}
	return nil
}

func (u *unpacker) write(to string, from io.Reader) (err error) {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	most := min(u.limits.fileBytes, u.limits.bytes-u.bytes)
	n, err := io.Copy(file, io.LimitReader(from, most+1))
	u.bytes += n
	if err == nil && n > most {
		err = fmt.Errorf("is beyond %d bytes, or all that is taken beyond %d", u.limits.fileBytes, u.limits.bytes)
	}
	return err
}

// complete returns the folders of complete runs.
func (u *unpacker) complete() ([]string, error) {
	var names []string
	for name, f := range u.folders {
		if slices.Contains(f.files, result.ResultFile) && !u.isArm(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it holds no complete run: a folder with " + result.ResultFile)
	}
	slices.Sort(names)
	var runs []string
	for _, name := range names {
		f := u.folders[name]
		if !slices.Contains(f.files, result.HistogramsFile) {
			return nil, fmt.Errorf("its run %.200q has no %s", name, result.HistogramsFile)
		}
		runs = append(runs, f.path)
	}
	return runs, nil
}

// isArm reports whether a folder is one of a comparison, or below it.
func (u *unpacker) isArm(name string) bool {
	return slices.ContainsFunc(u.arms, func(arm string) bool { return name == arm || strings.HasPrefix(name, arm+"/") })
}

// bounded reads from r, and fails beyond a number of bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("it holds too much, unpacked")
	}
	return n, err
}
