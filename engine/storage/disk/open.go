package disk

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// Open opens a Pebble. It turns Pebble's panic, which is how it answers a failed fsync of a folder, into an error, and
// says what to do about a lock that another process holds.
func Open(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sync the folder: %v", p)
		}
	}()
	db, err = pebble.Open(dir, o)
	if errors.Is(err, syscall.EAGAIN) {
		err = fmt.Errorf("another server holds its lock, stop that first: %w", err)
	}
	return db, err
}
