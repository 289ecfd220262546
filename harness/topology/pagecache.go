package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/walk"
)

// ColdCache reports how much of the servers' data is in the kernel's page cache, in bytes.
type ColdCache struct {
	Data int64 // total size of the files in the data folders
	Left int64 // number of these bytes that are still in the cache
}

// DropPageCache flushes the files in the servers' data folders to disk, and asks the kernel to drop
// them from its page cache. No server may be running. The kernel may retain pages; for an in-memory
// file system it retains all pages.
func (c *Cluster) DropPageCache() (ColdCache, error) {
	var all ColdCache
	for _, s := range c.servers {
		if err := all.drop(s.DataDir()); err != nil {
			return all, fmt.Errorf("drop the page cache of %s: %w", s.DataDir(), err)
		}
	}
	return all, nil
}

func (c *ColdCache) drop(folder string) error {
	return walk.Dir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(c.dropFile(f), f.Close())
	})
}

func (c *ColdCache) dropFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The kernel does not drop dirty pages, so they must be written first.
	if err := f.Sync(); err != nil {
		return err
	}
	fd := int(f.Fd())
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("fadvise: %w", err)
	}
	cached, err := cachedBytes(fd, info.Size())
	if err != nil {
		return err
	}
	c.Data += info.Size()
	c.Left += cached
	return nil
}

// cachedBytes returns how many bytes of an open file are in the page cache. size is the size of the
// file in bytes.
func cachedBytes(fd int, size int64) (int64, error) {
	if size == 0 {
		return 0, nil
	}
	var stat unix.Cachestat_t
	err := unix.Cachestat(uint(fd), &unix.CachestatRange{Len: uint64(size)}, &stat, 0)
	if errors.Is(err, unix.ENOSYS) {
		return 0, fmt.Errorf("cachestat: %w: Linux 6.5 or newer is required", err)
	}
	if err != nil {
		return 0, fmt.Errorf("cachestat: %w", err)
	}
	return min(size, int64(stat.Cache)*int64(os.Getpagesize())), nil
}
