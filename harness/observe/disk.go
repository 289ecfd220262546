package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/pronybench/prony/harness/walk"
)

// diskBlock is the size in bytes of the blocks that file systems count for a file. It does not
// depend on the block size of the file system.
const diskBlock = 512

// DiskUse returns how many bytes the files below dir occupy on disk, as du does. It counts
// allocated bytes. They exceed the file sizes if space was preallocated, and are less if files have
// holes. dir may be a link to a folder. Files that vanish during the call, as in an active store,
// are not counted.
func DiskUse(dir string) (bytes uint64, err error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, fmt.Errorf("disk use: %w", err)
	}
	err = walk.Dir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				bytes += allocated(info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("disk use of %s: %w", dir, err)
	}
	return bytes, nil
}

func allocated(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Blocks) * diskBlock
	}
	return uint64(info.Size())
}
