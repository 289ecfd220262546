package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// newCopies copies servers into a folder that it makes, and returns the paths of the copies. They are on the disk when it returns, so that
// nothing is written beside a measurement.
//
// A new file is in memory as a few large pages. One that was not read for a while comes back in small ones, and a server that
// runs from it takes 2 % more CPU time. Two sides are alike only if their files were written together and are read equally often.
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

// newCopy writes the whole file at once: the kernel chooses the size of its pages by that of the write.
func newCopy(from, to string) (err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // it is a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}
