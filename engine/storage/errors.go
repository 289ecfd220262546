package storage

import "errors"

var (
	// ErrPlace says that a list did not return this Place.
	ErrPlace = errors.New("the place to continue from is not of this list")

	// ErrSkipped says that an entry was not applied, and never is: its tenure was over, or an earlier entry of its tenure is
	// missing, so that the state it was decided upon does not exist.
	ErrSkipped = errors.New("the entry was decided in a tenure that is over")
)
