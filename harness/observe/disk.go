package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/pronybench/prony/harness/walk"
)

// diskBlock is what the number of a file's blocks counts in, whatever the file system's own blocks are.
const diskBlock = 512

// DiskUse returns how many bytes of disk the files below dir take, as du does: what is allocated to
// them, which is more than they hold where space was set aside and less where they have holes. dir
// may be a link to a folder. Files that vanish meanwhile, as those of a store at work do, count for
// nothing.
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
