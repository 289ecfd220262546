package logs

import "errors"

var (
	// ErrClosed is returned after the store was closed.
	ErrClosed = errors.New("the Raft logs are closed")
	// ErrNotFound reports that a stable store has no value with the given name. Raft recognizes
	// this error by its text.
	ErrNotFound = errors.New("not found")

	errCutShort = errors.New("the record is cut short")
)
