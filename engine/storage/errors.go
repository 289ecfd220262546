package storage

import "errors"

var (
	// ErrPlace means that a Place does not belong to this list.
	ErrPlace = errors.New("the place to continue from belongs to another list")

	// ErrSkipped means that an entry was not applied and never will be. Either its tenure had
	// ended, or an earlier entry of its tenure is missing. In both cases, the store is not in the
	// state that the entry's decisions were based on.
	ErrSkipped = errors.New("the entry was decided in a tenure that has ended")
)
