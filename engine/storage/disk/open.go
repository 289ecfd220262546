package disk

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// Open opens a Pebble database. If the fsync of a folder fails, Pebble panics; Open converts the
// panic to an error. If another process holds the store's lock, the error includes the remedy.
func Open(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fsync the store's folder: %v", p)
		}
	}()
	db, err = pebble.Open(dir, o)
	return db, remedyOfLock(err)
}

// Lock locks a store before it is opened. The caller must set the lock in pebble.Options, and close
// it after the Pebble database. If another process holds the lock, the error includes the remedy.
func Lock(dir string, files *Files) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, files)
	return lock, remedyOfLock(err)
}

func remedyOfLock(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("another server holds its lock: stop that server first: %w", err)
	}
	return err
}
