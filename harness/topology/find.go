package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	serverName = "queued"
	// serverEnv names the server's binary explicitly.
	serverEnv = "PRONY_QUEUED"
)

// FindServer returns the absolute path of the queued binary: the one that the environment variable
// PRONY_QUEUED names, else the one beside the running program, else bin/queued below the working
// directory.
func FindServer() (string, error) {
	var beside string
	if executable, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(executable); err == nil {
			executable = resolved
		}
		beside = filepath.Dir(executable)
	}
	return findServer(os.Getenv(serverEnv), beside)
}

func findServer(named, beside string) (string, error) {
	if named != "" {
		path, err := runnable(named)
		if err != nil {
			return "", fmt.Errorf("find the server: %s: %w", serverEnv, err)
		}
		return path, nil
	}
	candidates := []string{filepath.Join("bin", serverName)}
	if beside != "" {
		candidates = append([]string{filepath.Join(beside, serverName)}, candidates...)
	}
	var errs []error
	for _, candidate := range candidates {
		path, err := runnable(candidate)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("find the server: run `make build` in the repository, or set %s to the path of %s: %w", serverEnv, serverName, errors.Join(errs...))
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
