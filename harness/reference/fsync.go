package reference

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const fsyncBytes = 512

// fsync repeatedly appends to a new file and syncs it.
func fsync(ctx context.Context, c Config) (m measured, err error) {
	file, err := os.CreateTemp(c.Dir, ".prony-reference-*")
	if err != nil {
		return m, fmt.Errorf("create a file to sync: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := make([]byte, fsyncBytes)
	return repeat(ctx, c.For, func() error {
		if _, err := file.Write(block); err != nil {
			return fmt.Errorf("append to a file: %w", err)
		}
		for {
			switch err := unix.Fdatasync(int(file.Fd())); {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return fmt.Errorf("fdatasync %s: %w", file.Name(), err)
			default:
				return nil
			}
		}
	})
}
