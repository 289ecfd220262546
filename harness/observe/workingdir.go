package observe

import "os"

// WorkingDir returns the working directory. Within a repository the path is relative to the root of
// the repository ("." at the root), because the same folder exists on other hosts. Elsewhere the
// path is absolute. WorkingDir returns "unknown" if the directory cannot be read.
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
