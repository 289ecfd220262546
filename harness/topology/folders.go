package topology

import (
	"fmt"
	"os"
	"path/filepath"
)

type folders struct {
	root        string // folder that contains data and addressFile
	data        string
	addressFile string
	socketDir   string // folder that contains socket; "" if there is no socket
	socket      string
}

// socketPathBytesMax is the longest path of a Unix socket on Linux, in bytes. It is the size of
// sun_path without the final zero byte.
const socketPathBytesMax = 107

// makeFolders creates the folders of a server; existing folders are used. On error it also returns
// the folders that it has created.
func makeFolders(root string, unix bool) (folders, error) {
	f := folders{root: root, data: filepath.Join(root, "data"), addressFile: filepath.Join(root, "address.json")}
	if err := os.MkdirAll(f.data, 0o755); err != nil {
		return f, fmt.Errorf("create the server's data folder: %w", err)
	}
	var err error
	if !unix {
		return f, nil
	}
	// The socket is not in the data folder, because that path may be too long for a socket.
	if f.socketDir, err = os.MkdirTemp("", "prony-"); err != nil {
		return f, fmt.Errorf("create a folder for the socket: %w", err)
	}
	f.socket = filepath.Join(f.socketDir, "queue.sock")
	if len(f.socket) > socketPathBytesMax {
		return f, fmt.Errorf("the socket's path %s has %d bytes, the maximum is %d: set TMPDIR to a shorter path", f.socket, len(f.socket), socketPathBytesMax)
	}
	return f, nil
}

func (f folders) wipe() error {
	if err := os.RemoveAll(f.data); err != nil {
		return err
	}
	return os.Mkdir(f.data, 0o755)
}

// removeSocket deletes the folder of the socket, which is outside of the other folders.
func (f folders) removeSocket() error {
	if f.socketDir == "" {
		return nil
	}
	if err := os.RemoveAll(f.socketDir); err != nil {
		return fmt.Errorf("remove the folder of the server's socket: %w", err)
	}
	return nil
}
