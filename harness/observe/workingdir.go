package observe

import "os"

// WorkingDir returns the working directory: relative to the root of the repository ("." at the
// root) within one, because other hosts have that folder too; absolute otherwise, and "unknown" if
// it cannot be read.
func WorkingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return unknown
	}
	prefix, err := git(dir, "rev-parse", "--show-prefix")
	switch {
	case err != nil:
		return dir
	case prefix == "":
		return "."
	}
	return prefix
}
