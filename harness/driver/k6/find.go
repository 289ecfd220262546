package k6

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	binaryName = "k6"
	// BinaryEnv names the k6 binary explicitly.
	BinaryEnv = "PRONY_K6"
)

// Find returns the absolute path of the k6 binary that has Prony's extension: the one that the environment variable PRONY_K6
// names, else the one beside the running program, else bin/k6 below the working directory. A k6 from elsewhere knows
// nothing of the extension and is not looked for.
func Find() (string, error) {
	var beside string
	if executable, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(executable); err == nil {
			executable = resolved
		}
		beside = filepath.Dir(executable)
	}
	return find(os.Getenv(BinaryEnv), beside)
}

func find(named, beside string) (string, error) {
	if named != "" {
		path, err := runnable(named)
		if err != nil {
			return "", fmt.Errorf("find k6: %s: %w", BinaryEnv, err)
		}
		return path, nil
	}
	var errs []error
	for _, dir := range []string{beside, "bin"} {
		if dir == "" {
			continue
		}
		path, err := runnable(filepath.Join(dir, binaryName))
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("find k6: run `make k6` in the repository, or set %s to the path of a k6 with Prony's extension: %w", BinaryEnv, errors.Join(errs...))
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
