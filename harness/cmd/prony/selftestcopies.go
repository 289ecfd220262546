package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// newCopies copies servers into a new folder, and returns the paths of the copies. It syncs the
// copies to the disk, so that the kernel does not write them back during a measurement.
//
// The kernel caches a file that was just written in large pages. If it drops the file from memory
// and reads it again, the pages are small. A duet makes the kernel map both sides with small pages,
// but kernels before Linux 6.12 may not do this. Both sides therefore run from files that were
// written together and are used equally often.
func newCopies(folder string, servers []string) (copies []string, err error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("make a folder for copies of the servers: %w", err)
	}
	for _, server := range servers {
		to := filepath.Join(folder, filepath.Base(server))
		if err := newCopy(server, to); err != nil {
			return nil, fmt.Errorf("copy a server: %w", err)
		}
		copies = append(copies, to)
	}
	return copies, nil
}

// newCopy copies a program. It writes the file in one call, because the kernel chooses the size of
// cached pages by the size of the write.
func newCopy(from, to string) (err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // the file is a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}
