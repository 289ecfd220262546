package hosts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/proc"
)

// ownNamespace is the path of the calling thread's network namespace.
const ownNamespace = "/proc/thread-self/ns/net"

// makeNamespace creates a network namespace without links. The namespace exists until the file is
// closed and no process is in it.
func makeNamespace() (*os.File, error) {
	type made struct {
		file *os.File
		err  error
	}
	done := make(chan made)
	proc.OnThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- made{err: fmt.Errorf("create a network namespace: %w", err)}
			return
		}
		file, err := os.Open(ownNamespace)
		if err != nil {
			err = fmt.Errorf("create a network namespace: %w", err)
		}
		done <- made{file, err}
	})
	m := <-done
	return m.file, m.err
}

// inside calls do on a thread that is in a network namespace. Goroutines that do starts are not in
// the namespace.
func inside(namespace *os.File, do func() error) error {
	done := make(chan error)
	proc.OnThread(func() {
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter a network namespace: %w", err)
			return
		}
		done <- do()
	})
	return <-done
}

// inode returns the inode number of the network namespace at path. The number is unique while the
// namespace exists.
func inode(path string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return 0, fmt.Errorf("find the network namespace: %w", err)
	}
	return s.Ino, nil
}

func closeAll(files ...*os.File) error {
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
