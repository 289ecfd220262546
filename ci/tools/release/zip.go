package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"
)

// git runs a git command in a checkout and returns its output.
func git(tree string, args ...string) ([]byte, error) {
	c := exec.Command("git", args...)
	c.Dir = tree
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out.Bytes(), nil
}

// prefix is the folder that git puts the files of an archive in.
const prefix = "files/"

// moduleFiles returns the files of a module in a revision, as the go command takes them from a
// repository: those in the module's folder, and the repository's license if the module has none of
// its own.
func moduleFiles(repo, revision string, s sibling) ([]modzip.File, error) {
	archive, err := git(repo, "-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=zip", "--prefix="+prefix, revision, "--", s.folder, license)
	if err != nil {
		return nil, err
	}
	all, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("read the archive of %s: %w", revision, err)
	}
	var files []modzip.File
	var shared *zip.File
	for _, f := range all.File {
		name := strings.TrimPrefix(f.Name, prefix)
		if name == license {
			shared = f
		}
		if name, in := strings.CutPrefix(name, s.folder+"/"); in && name != "" && !strings.HasSuffix(name, "/") {
			files = append(files, zipped{name, f})
			if name == license {
				shared = nil
			}
		}
	}
	if shared != nil {
		files = append(files, zipped{license, shared})
	}
	return files, nil
}

const license = "LICENSE"

// zipped is a file of a module in an archive. It implements modzip.File.
type zipped struct {
	name string
	file *zip.File
}

func (z zipped) Path() string                 { return z.name }
func (z zipped) Lstat() (fs.FileInfo, error)  { return z.file.FileInfo(), nil }
func (z zipped) Open() (io.ReadCloser, error) { return z.file.Open() }

// writeZip writes the zip file of a module in a revision.
func writeZip(path, repo, revision string, s sibling, version string) error {
	files, err := moduleFiles(repo, revision, s)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(modzip.Create(out, module.Version{Path: s.path, Version: version}, files), out.Close())
}

// sumsOf returns the two lines that a go.sum file has of a module in a revision.
func sumsOf(repo, revision string, s sibling, version string) ([]string, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "module.zip")
	if err := writeZip(path, repo, revision, s, version); err != nil {
		return nil, fmt.Errorf("make the zip file of %s: %w", s.path, err)
	}
	whole, err := dirhash.HashZip(path, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	text, err := git(repo, "show", revision+":"+s.folder+"/go.mod")
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintln(s.path, version, whole), fmt.Sprintln(s.path, version+"/go.mod", mod)}, nil
}
