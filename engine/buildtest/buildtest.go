// Package buildtest builds the programs that tests start as processes, and writes scripts for
// tests. The programs are stored in bin/test, so that all packages of a test run share one build,
// and the next run links a program again only if its sources changed.
package buildtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Program builds the program in a folder of the repository, such as "engine/cmd/queued", and
// returns its path. name is the name of the program's file. Calls with the same name must have the
// same flags. Program is safe for concurrent use, also by several processes.
func Program(name, folder string, flags ...string) (path string, err error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	path = filepath.Join(root, "bin", "test", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // also unlocks the file
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false"}, flags...), "-o", path, ".")...)
	build.Dir = filepath.Join(root, filepath.FromSlash(folder))
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s in %s: %w\n%s", name, build.Dir, err, text)
	}
	return path, nil
}

// WriteScript writes an executable file that a test starts afterwards. It prevents other goroutines
// from starting processes during the write: such a process would inherit the open file until it
// runs its program, and the script could not be started in that time ("text file busy").
func WriteScript(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return fmt.Errorf("write a script: %w", err)
	}
	return nil
}

// repository returns the root of the checkout that contains the working directory.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "engine", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of the repository: no folder above has engine/go.mod", start)
		}
	}
}
