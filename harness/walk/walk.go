// Package walk visits the files of folders that a user names.
package walk

import (
	"io/fs"
	"path/filepath"
)

// Dir is filepath.WalkDir for a root that may be a symbolic link, such as runs/latest: it follows
// that link, but no links below it. The visited paths begin with root as given.
func Dir(root string, visit fs.WalkDirFunc) error {
	target, err := filepath.EvalSymlinks(root)
	if err != nil {
		return visit(root, nil, err)
	}
	return filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		below, relErr := filepath.Rel(target, path)
		switch {
		case relErr != nil:
			return relErr
		case below == ".":
			return visit(root, entry, err)
		}
		return visit(filepath.Join(root, below), entry, err)
	})
}
