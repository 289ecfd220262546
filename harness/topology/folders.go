package topology

import (
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

// makeFolders makes a server's folders, or finds those that were kept. If it fails, it returns those that it made, beside the error.
func makeFolders(root string, unix bool) (folders, error) {
	f := folders{root: root, data: filepath.Join(root, "data"), addressFile: filepath.Join(root, "address.json")}
	if err := os.MkdirAll(f.data, 0o755); err != nil {
		return f, fmt.Errorf("make the server's data folder: %w", err)
	}
	var err error
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

// removeSocket deletes the folder of the socket, which is not below the others.
func (f folders) removeSocket() error {
	if f.socketDir == "" {
		return nil
	}
	if err := os.RemoveAll(f.socketDir); err != nil {
		return fmt.Errorf("remove the folder of the server's socket: %w", err)
	}
	return nil
}
