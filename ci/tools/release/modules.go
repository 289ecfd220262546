package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// prepare makes the go.mod and go.sum files of a checkout those of a release, and stages them: no
// module has a replacement, and each requires its siblings at the version. A sum of a sibling is
// that of its files as they are staged then, so the order matters.
func prepare(tree, version string) error {
	var sums []string // lines of go.sum, of the siblings that are prepared
	for _, s := range siblings {
		path := filepath.Join(tree, s.folder, "go.mod")
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text, err = released(path, text, version); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		if err := addSums(filepath.Join(tree, s.folder, "go.sum"), sums); err != nil {
			return err
		}
		if _, err := git(tree, "add", "--", s.folder+"/go.mod", s.folder+"/go.sum"); err != nil {
			return err
		}
		staged, err := git(tree, "write-tree")
		if err != nil {
			return err
		}
		lines, err := sumsOf(tree, strings.TrimSpace(string(staged)), s, version)
		if err != nil {
			return err
		}
		sums = append(sums, lines...)
	}
	return nil
}

// released returns the go.mod file of a release.
func released(path string, text []byte, version string) ([]byte, error) {
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range siblings {
		for _, r := range file.Require {
			if r.Mod.Path == s.path {
				if err := file.AddRequire(s.path, version); err != nil {
					return nil, err
				}
				break
			}
		}
		for _, r := range file.Replace {
			if r.Old.Path == s.path {
				if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
					return nil, err
				}
			}
		}
	}
	file.Cleanup()
	if len(file.Replace) > 0 {
		return nil, fmt.Errorf("%s replaces %s: 'go install' refuses a module with a replacement", path, file.Replace[0].Old.Path)
	}
	if len(file.Exclude) > 0 {
		return nil, fmt.Errorf("%s excludes %s: 'go install' refuses a module with an exclusion", path, file.Exclude[0].Mod.Path)
	}
	return file.Format()
}

// addSums writes lines into a go.sum file and replaces those of the siblings.
func addSums(path string, sums []string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	hashes := map[module.Version]string{}
	var order []module.Version
	for line := range strings.Lines(string(text) + strings.Join(sums, "")) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("%s: %q is not a line of a go.sum file", path, line)
		}
		m := module.Version{Path: fields[0], Version: fields[1]}
		if _, seen := hashes[m]; !seen {
			order = append(order, m)
		}
		hashes[m] = fields[2]
	}
	module.Sort(order) // as the go command does
	var out bytes.Buffer
	for _, m := range order {
		fmt.Fprintln(&out, m.Path, m.Version, hashes[m])
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
