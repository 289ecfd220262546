package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Binary describes a program that Find looks for. All fields must be set.
type Binary struct {
	Called string // name used in errors, for example "the server"
	File   string // name of the file
	Env    string // environment variable that contains the path of the program
	Make   string // target of the repository's Makefile that builds the program
	Wanted string // what errors call the expected value of Env
}

// Find returns the absolute path of the binary. The environment variable has priority, then the
// folder of the running program, then the folder bin below the working directory. Find searches no
// other folder, because a program with the same name may be a different one. The error lists the
// paths that were searched, and the remedy.
func (b Binary) Find() (string, error) {
	var beside string
	if executable, err := os.Executable(); err == nil { // Linux has already resolved symbolic links
		beside = filepath.Dir(executable)
	}
	return b.find(beside)
}

// find searches the folder beside, and then bin. beside is the folder of the running program, or ""
// if that is unknown.
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
