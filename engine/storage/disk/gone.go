package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// GoneError says that a folder or file of a running server is not what the server opened any more.
type GoneError struct {
	Path    string
	Problem string
	Remedy  string
}

func (e *GoneError) Error() string { return fmt.Sprintf("%s %s: %s", e.Path, e.Problem, e.Remedy) }

const (
	folderRemedy = "mount its file system again or move the folder back, and start the server again; if it is lost, restore a backup, " +
		"or have the node of a cluster join again with an empty data folder"
	readOnlyRemedy = "the system's log says why; check the file system, mount it for writing, and start the server again"
	fileRemedy     = "restore a backup, or have the node of a cluster join again with an empty data folder"
)

// isGone reports whether an operation on a file failed because the file or its folder is gone or
// read-only.
func isGone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EROFS) }

// passes reports whether an error of a look says nothing about the file: the process lacks
// something for the moment.
func passes(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR, syscall.EAGAIN}, func(of error) bool { return errors.Is(err, of) })
}

// goneRemedy returns the remedy for such an operation.
func goneRemedy(err error) string {
	if errors.Is(err, syscall.EROFS) {
		return readOnlyRemedy
	}
	return folderRemedy
}
