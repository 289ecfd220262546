package logs

import "errors"

var (
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the Raft logs are closed")
	// ErrNotFound says that a stable store has no value of a name. Raft knows the error by its text.
	ErrNotFound = errors.New("not found")

	errCutShort = errors.New("the record is cut short")
)
