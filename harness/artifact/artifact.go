// Package artifact extracts the results of runs from an archive, such as an archive that a CI
// service creates from the files that a job uploaded. The archive is untrusted: its size and number
// of entries are bounded, and its entry names do not decide where files are written.
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

type bounds struct {
	entries   int
	runs      int
	fileBytes int64 // of one extracted file
	bytes     int64 // of all extracted files
	unpacked  int64 // of a whole tar archive, which must be decompressed to reach its entries
}

var usual = bounds{entries: 100_000, runs: 256, fileBytes: 256 << 20, bytes: 1 << 30, unpacked: 8 << 30}

// Is reports whether name has the extension of an archive that Unpack reads: .zip, .tar.gz or .tgz.
func Is(name string) bool { return isZip(name) || isTar(name) }

func isZip(name string) bool { return strings.HasSuffix(name, ".zip") }

func isTar(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// Unpack extracts the result and the histograms of each complete run in the archive. It writes each
// run into a separate folder below dir, which must exist. It returns these folders in the order of
// the runs' names in the archive. The runs may be at any depth. Unpack skips links, and the arms of
// comparisons, which are not independent runs. It fails if the archive contains no run, if an
// entry's name leads outside of the archive, or if the archive exceeds a bound: 100,000 entries,
// 256 runs, 256 MiB in one extracted file, 1 GiB in all extracted files, and 8 GiB for a whole
// decompressed tar archive.
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

type unpacker struct {
	dir     string
	limits  bounds
	entries int
	bytes   int64
	folders map[string]*folder // by folder name in the archive
	arms    []string           // folders that contain a comparison or a duet
}

// folder is a folder of the archive that may contain a run.
type folder struct {
	path  string // where its files are written
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

func (u *unpacker) entry(name string, regular bool, open func() (io.ReadCloser, error)) error {
	if u.entries++; u.entries > u.limits.entries {
		return fmt.Errorf("more than %d entries", u.limits.entries)
	}
	if strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("entry %.200q leads outside of the archive", name)
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
			return fmt.Errorf("more than %d runs", u.limits.runs)
		}
		f = &folder{path: filepath.Join(u.dir, strconv.Itoa(len(u.folders)))}
		if err := os.Mkdir(f.path, 0o700); err != nil {
			return err
		}
		u.folders[parent] = f
	}
	if slices.Contains(f.files, base) {
		return fmt.Errorf("duplicate entry %.200q", clean)
	}
	f.files = append(f.files, base)
	from, err := open()
	if err != nil {
		return fmt.Errorf("entry %.200q: %w", clean, err)
	}
	err = u.write(filepath.Join(f.path, base), from)
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("entry %.200q: %w", clean, err)
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
		err = fmt.Errorf("larger than %d bytes, or all extracted files together larger than %d bytes", u.limits.fileBytes, u.limits.bytes)
	}
	return err
}

// complete returns the folders of the complete runs. It fails without a complete run, and if a run
// has no histograms.
func (u *unpacker) complete() ([]string, error) {
	var names []string
	for name, f := range u.folders {
		if slices.Contains(f.files, result.ResultFile) && !u.isArm(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no complete run in it: expected a folder with " + result.ResultFile)
	}
	slices.Sort(names)
	var runs []string
	for _, name := range names {
		f := u.folders[name]
		if !slices.Contains(f.files, result.HistogramsFile) {
			return nil, fmt.Errorf("run %.200q has no %s", name, result.HistogramsFile)
		}
		runs = append(runs, f.path)
	}
	return runs, nil
}

func (u *unpacker) isArm(name string) bool {
	return slices.ContainsFunc(u.arms, func(arm string) bool { return name == arm || strings.HasPrefix(name, arm+"/") })
}

// bounded reads from r and fails once it has read more than left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("it is too large when decompressed")
	}
	return n, err
}
