package observe

import (
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// filesystemNames maps statfs types to names. It contains only types that belong to a single
// filesystem.
var filesystemNames = map[int64]string{
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.F2FS_SUPER_MAGIC:      "f2fs",
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.XFS_SUPER_MAGIC:       "xfs",
}

// filesystem returns the name of the filesystem of dir, such as "ext4", "tmpfs" or "overlay". ext2,
// ext3 and ext4 share a statfs type, and many filesystems are not in filesystemNames. For these it
// reads the name from the kernel's table of mounts.
func filesystem(dir string) string {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return unknown
	}
	if name, ok := filesystemNames[int64(stat.Type)]; ok { //nolint:unconvert // the field's type differs between architectures
		return name
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return unknown
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return unknown
	}
	mounts, err := procfs.GetMounts()
	if err != nil {
		return unknown
	}
	return mountedType(path, mounts)
}

// mountedType returns the filesystem type of the mount that contains path. path must be absolute
// and must not contain symbolic links. If several mounts contain the path, the mount with the
// longest mount point is used; if there are several of these, the last one is used, because it
// hides the others.
func mountedType(path string, mounts []*procfs.MountInfo) string {
	longest, name := -1, unknown
	for _, m := range mounts {
		if len(m.MountPoint) >= longest && contains(m.MountPoint, path) {
			longest, name = len(m.MountPoint), known(m.FSType)
		}
	}
	return name
}

func contains(folder, path string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}
