package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Binary defines where to find a program. All fields must be set.
type Binary struct {
	Called string // name in errors: "the server"
	File   string // file name
	Env    string // the environment variable that names it explicitly
	Make   string // target of the repository's Makefile that builds it
	Wanted string // the expected value of Env, in errors
}

// Find returns the absolute path of the binary: the one that the environment variable names, else
// the one in the folder of the running program, else the one in bin below the working directory. It
// searches no other folder, because a program with the same name may be a different one. The error
// lists the searched paths and the remedy.
func (b Binary) Find() (string, error) {
	var beside string
	if executable, err := os.Executable(); err == nil { // Linux has resolved symbolic links
		beside = filepath.Dir(executable)
	}
	return b.find(beside)
}

// find searches the folder of the running program, beside, which is "" if unknown, and then bin.
func (b Binary) find(beside string) (string, error) {
	if named := os.Getenv(b.Env); named != "" {
		path, err := runnable(named)
		if err != nil {
			return "", fmt.Errorf("find %s: %s: %w: set it to the path of %s, or unset it to use the one in the folder of prony or in bin/", b.Called, b.Env, err, b.Wanted)
		}
		return path, nil
	}
	var errs []error
	for _, dir := range []string{beside, "bin"} {
		if dir == "" {
			continue
		}
		path, err := runnable(filepath.Join(dir, b.File))
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("find %s: there is no %s in the folder of prony or in bin/: run `make %s` in the root of the repository, or set %s to the path of %s\n%w",
		b.Called, b.File, b.Make, b.Env, b.Wanted, errors.Join(errs...))
}

func runnable(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s is not an executable file", path)
	}
	return path, nil
}
