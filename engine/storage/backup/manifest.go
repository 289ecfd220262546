// Package backup creates, verifies and restores backups of a data folder.
//
// A backup is a folder:
//
//	manifest.json      describes the backup; written last: a folder without a manifest is no backup
//	shards/0000/…      a checkpoint of each shard's store, as storage.Store.Checkpoint writes it
//	shards/0001/…
//
// The manifest is JSON. It contains the path, size and SHA-256 of every other file. It also
// contains its own SHA-256, which is computed while that field is empty.
//
// Make creates a backup of a running server's stores in the folder "backups" of the data folder.
// Verify reads every file of a backup and compares it with the manifest. Restore copies a backup to
// a new data folder and verifies the copy. It also ensures that the restored stores do not issue
// ids and tokens that the server has issued since the backup. CheckDataFolder rejects a folder that
// Restore did not finish. A backup appears under its name only when it is complete, and a server
// accepts a restored data folder only when it is complete: the last step of Make is a rename, and
// the last step of Restore is a removal.
//
// The functions may be called concurrently for different folders. ErrExists and *NameError mean
// that the name of a backup cannot be used; other errors name the file.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// ManifestName is the name of the manifest in the folder of a backup.
const ManifestName = "manifest.json"

// manifestFormat is the newest format that this code reads, and the format that it writes.
const manifestFormat = 1

// Manifest describes a backup.
type Manifest struct {
	Format      int    `json:"format"`
	CreatedAtMs int64  `json:"created_at_ms"`
	Version     string `json:"version"` // version of the server that made the backup
	Shards      int    `json:"shards"`
	Files       []File `json:"files"` // all files except the manifest, by path
	// SHA256 is the sum of the manifest with an empty SHA256.
	SHA256 string `json:"sha256"`
}

// File is one file of a backup.
type File struct {
	Path   string `json:"path"` // within the backup, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Bytes returns the total size of all files.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Bytes
	}
	return n
}

func (m Manifest) encode() ([]byte, error) {
	m.SHA256 = ""
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	sum := sha256.Sum256(text)
	m.SHA256 = hex.EncodeToString(sum[:])
	if text, err = json.MarshalIndent(m, "", " "); err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// writeManifest completes a backup: it reads every file in dir and writes the manifest atomically.
// The caller must set CreatedAtMs, Version and Shards. It returns the manifest as written.
func writeManifest(ctx context.Context, dir string, m Manifest) (Manifest, error) {
	m.Format, m.Files = manifestFormat, nil
	paths, err := filePaths(dir)
	if err != nil {
		return m, err
	}
	for _, path := range paths {
		sum := sha256.New()
		n, err := copyFile(ctx, filepath.Join(dir, filepath.FromSlash(path)), sum)
		if err != nil {
			return m, fmt.Errorf("sum the backup: %w", err)
		}
		m.Files = append(m.Files, File{Path: path, Bytes: n, SHA256: hexSum(sum)})
	}
	if err := m.check(); err != nil {
		return m, fmt.Errorf("the backup in %s: %w", dir, err)
	}
	text, err := m.encode()
	if err != nil {
		return m, err
	}
	if err := disk.WriteWhole(filepath.Join(dir, ManifestName), text); err != nil {
		return m, fmt.Errorf("write the manifest: %w", err)
	}
	return m, json.Unmarshal(text, &m)
}

// manifestBytesMax is the maximum size of a manifest in bytes. A manifest contains about a hundred
// bytes for each file.
const manifestBytesMax = 64 << 20

// readManifest reads and checks the manifest of the backup in dir. It reads no other file.
func readManifest(dir string) (m Manifest, err error) {
	text, err := disk.ReadBounded(filepath.Join(dir, ManifestName), manifestBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s is no finished backup: it has no %s", dir, ManifestName)
	}
	if err != nil {
		return m, fmt.Errorf("read the manifest: %w", err)
	}
	var newer struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(text, &newer) == nil && newer.Format > manifestFormat {
		return m, fmt.Errorf("the backup in %s has format %d, this program reads format %d: use a newer one", dir, newer.Format, manifestFormat)
	}
	damaged := func(how string) error {
		return fmt.Errorf("%s is damaged: %s", filepath.Join(dir, ManifestName), how)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged(err.Error())
	}
	if same, err := m.encode(); err != nil || !bytes.Equal(same, text) {
		return m, damaged("it does not match its checksum")
	}
	if err := m.check(); err != nil {
		return m, damaged(err.Error())
	}
	return m, nil
}

func (m *Manifest) check() error {
	if m.Format < 1 || m.Shards < 1 || m.Shards > storage.ShardsMax {
		return fmt.Errorf("format %d with %d shards is no backup", m.Format, m.Shards)
	}
	for i, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || i > 0 && f.Path <= m.Files[i-1].Path {
			return fmt.Errorf("file %q is out of place", f.Path)
		}
	}
	for shard := range m.Shards {
		prefix := filepath.ToSlash(storage.ShardFolder("", shard)) + "/"
		if !slices.ContainsFunc(m.Files, func(f File) bool { return strings.HasPrefix(f.Path, prefix) }) {
			return fmt.Errorf("shard %d of %d has no files", shard, m.Shards)
		}
	}
	return nil
}

// problemsMax limits the number of problems that an error names.
const problemsMax = 20

// Verify checks the manifest of the backup in dir, and every file against the manifest. The error
// names each file that is missing, changed, or not in the manifest. Verify writes nothing.
func Verify(ctx context.Context, dir string) (Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return m, err
	}
	return m, m.verifyFiles(ctx, dir, func(string) io.Writer { return io.Discard })
}

func (m *Manifest) verifyFiles(ctx context.Context, dir string, to func(path string) io.Writer) error {
	paths, err := filePaths(dir)
	if err != nil {
		return err
	}
	var problems []error
	note := func(err error) { problems = append(problems, err) }
	for _, f := range m.Files {
		if err := m.verifyFile(ctx, dir, f, to(f.Path)); err != nil {
			note(err)
		}
		if ctx.Err() != nil || len(problems) == problemsMax {
			return errors.Join(problems...)
		}
	}
	for _, path := range paths {
		_, listed := slices.BinarySearchFunc(m.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
		if !listed && len(problems) < problemsMax {
			note(fmt.Errorf("%s is in the backup's folder but is not part of the backup: remove it", filepath.Join(dir, path)))
		}
	}
	return errors.Join(problems...)
}

func (*Manifest) verifyFile(ctx context.Context, dir string, f File, to io.Writer) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	sum := sha256.New()
	n, err := copyFile(ctx, path, io.MultiWriter(sum, to))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is missing", path)
	case err != nil:
		return err
	case n != f.Bytes:
		return fmt.Errorf("%s is damaged: it has %d bytes, expected %d", path, n, f.Bytes)
	case hexSum(sum) != f.SHA256:
		return fmt.Errorf("%s is damaged: its SHA-256 differs from that in the manifest", path)
	}
	return nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// filePaths returns the sorted paths, with slashes, of the files in dir except the manifest and the
// lock. dir may be a link to a folder. It returns an error if the folder contains anything that is
// neither a file nor a folder.
func filePaths(dir string) (paths []string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // WalkDir does not follow links
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file: remove it", path)
		}
		relative, err := filepath.Rel(dir, path)
		if err == nil && relative != ManifestName && relative != lockName {
			paths = append(paths, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	slices.Sort(paths)
	return paths, nil
}

func copyFile(ctx context.Context, path string, to io.Writer) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.Copy(to, &contextReader{ctx, f})
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
