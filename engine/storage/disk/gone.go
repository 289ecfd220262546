package disk

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
)

// GoneError reports that a folder or file of a running server is missing, replaced or read-only.
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

// asGone returns a *GoneError for an operation that failed because the file or its folder is
// missing or read-only. It returns nil if the operation failed for another reason.
func asGone(operation, path string, err error) *GoneError {
	remedy := folderRemedy
	switch {
	case errors.Is(err, syscall.EROFS):
		remedy = readOnlyRemedy
	case !errors.Is(err, os.ErrNotExist):
		return nil
	}
	return &GoneError{path, fmt.Sprintf("can't be used any more (%s: %v)", operation, err), remedy}
}

var transientErrors = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR, syscall.EAGAIN}

// isTransient reports whether a check failed for a temporary reason, such as a lack of memory or
// file descriptors. Such an error does not show whether the file exists.
func isTransient(err error) bool {
	return slices.ContainsFunc(transientErrors, func(t error) bool { return errors.Is(err, t) })
}

// loss records the reason why a data folder or a store in it is lost. All stores of a Space share
// one loss, so that none of them acknowledges a commit after one of them is lost.
type loss struct{ reason atomic.Pointer[error] }

func (l *loss) record(reason error) { l.reason.CompareAndSwap(nil, &reason) }

func (l *loss) err() error {
	if reason := l.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}
