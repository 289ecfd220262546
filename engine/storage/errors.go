package storage

import "errors"

var (
	// ErrPlace reports a Place that this list did not return.
	ErrPlace = errors.New("the place to continue from belongs to another list")

	// ErrSkipped reports an entry that was not applied and never will be: its tenure had ended, or
	// an earlier entry of its tenure is missing, so that the state it was decided on does not
	// exist.
	ErrSkipped = errors.New("the entry was decided in a tenure that has ended")
)
