package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Binary says where a program is found. All of it must be set.
type Binary struct {
	Called string // in errors: "the server"
	File   string // the name of its file
	Env    string // the environment variable that names it explicitly
	Make   string // the target of the repository's Makefile that builds it
	Wanted string // what Env is to be the path of, in errors
}

// Find returns the absolute path of the binary: the one that the environment variable names, else the one beside the running
// program, else the one in bin below the working directory. No other is looked for: a program of the same name from
// elsewhere may be another one. An error says where it was looked for, and what to do.
func (b Binary) Find() (string, error) {
	var beside string
	if executable, err := os.Executable(); err == nil { // of which Linux has resolved the links
		beside = filepath.Dir(executable)
	}
	return b.find(beside)
}

// find looks beside the running program in a folder, which is "" where that is not known.
func (b Binary) find(beside string) (string, error) {
	if named := os.Getenv(b.Env); named != "" {
		path, err := runnable(named)
		if err != nil {
			return "", fmt.Errorf("find %s: %s: %w: set it to the path of %s, or unset it to use the one beside prony or in bin/", b.Called, b.Env, err, b.Wanted)
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
	return "", fmt.Errorf("find %s: there is no %s beside prony nor in bin/: run `make %s` in the root of the repository, or set %s to the path of %s\n%w",
		b.Called, b.File, b.Make, b.Env, b.Wanted, errors.Join(errs...))
}

// runnable returns the absolute path of a file that can be executed.
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
