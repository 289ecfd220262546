package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// folders are the places on disk that belong to one server.
type folders struct {
	root        string // holds data and addressFile
	data        string
	addressFile string
	socketDir   string // holds socket; empty without one
	socket      string
}

// socketPathBytesMax is the longest path that a Unix socket can be bound to on Linux (sun_path less
// its final zero byte).
const socketPathBytesMax = 107

// makeFolders makes a server's folders below dir. If it fails, it returns those that it made, beside the error.
func makeFolders(dir string, unix bool) (folders, error) {
	var f folders
	var err error
	if f.root, err = os.MkdirTemp(dir, "server-"); err != nil {
		return f, fmt.Errorf("make the server's folder: %w", err)
	}
	f.data = filepath.Join(f.root, "data")
	if err := os.Mkdir(f.data, 0o755); err != nil {
		return f, fmt.Errorf("make the server's data folder: %w", err)
	}
	f.addressFile = filepath.Join(f.root, "address.json")
	if !unix {
		return f, nil
	}
	// The data folder's path may be longer than a socket's may be.
	if f.socketDir, err = os.MkdirTemp("", "prony-"); err != nil {
		return f, fmt.Errorf("make a folder for the socket: %w", err)
	}
	f.socket = filepath.Join(f.socketDir, "queue.sock")
	if len(f.socket) > socketPathBytesMax {
		return f, fmt.Errorf("the socket's path %s has %d bytes, at most %d are possible; set TMPDIR to a shorter folder", f.socket, len(f.socket), socketPathBytesMax)
	}
	return f, nil
}

// wipe deletes all that the server stores.
func (f folders) wipe() error {
	if err := os.RemoveAll(f.data); err != nil {
		return err
	}
	return os.Mkdir(f.data, 0o755)
}

// remove deletes the folders and all that the server left in them.
func (f folders) remove() error {
	var errs []error
	for _, dir := range []string{f.root, f.socketDir} {
		if dir == "" {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the server's folder: %w", err))
		}
	}
	return errors.Join(errs...)
}
