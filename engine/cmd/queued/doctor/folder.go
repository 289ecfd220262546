package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
	"github.com/pronybench/prony/engine/storage/disk"
)

// dataFolder checks the data folder and returns a folder for measurements. This is the data folder
// or, if it does not exist, the folder in which it would be created. It returns "" if neither is
// writable.
func (r *report) dataFolder(h Host, dir string) string {
	const check = "data folder"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		above := existing(dir)
		if err := writable(above); err != nil {
			r.add(check, Unfit, fmt.Sprintf("%s does not exist and can't be created: %v", dir, err), "create it for the user that runs the server")
			return ""
		}
		r.add(check, Fit, dir+" does not exist yet; the server creates it", "")
		return above
	case err != nil:
		r.add(check, Unfit, err.Error(), "run this as the user that runs the server")
		return ""
	case !info.IsDir():
		r.add(check, Unfit, dir+" is not a folder", "name another with --data")
		return ""
	}
	if err := backup.CheckDataFolder(dir); err != nil {
		r.add(check, Unfit, err.Error(), "")
		return ""
	}
	if _, err := os.ReadDir(dir); err != nil {
		r.add(check, Unfit, err.Error(), "run this as the user that runs the server, or give that user the folder")
		return ""
	}
	if err := writable(dir); err != nil {
		r.add(check, Unfit, err.Error(), "run this as the user that runs the server, or give that user the folder")
		return ""
	}
	r.owner(check, h, dir, info)
	return dir
}

func (r *report) owner(check string, h Host, dir string, info fs.FileInfo) {
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case known && int(stat.Uid) != h.UID():
		r.add(check, Warning, fmt.Sprintf("%s belongs to user %d, and this is user %d", dir, stat.Uid, h.UID()), "run the server, and this, as the folder's owner")
	case info.Mode().Perm()&0o022 != 0:
		r.add(check, Warning, fmt.Sprintf("%s can be written by others: its mode is %o", dir, info.Mode().Perm()), "chmod 700 "+dir)
	default:
		r.add(check, Fit, dir+" can be read and written, and is this user's", "")
	}
}

// probeName is the name pattern of temporary files that the checks write.
const probeName = ".doctor-*"

func writable(dir string) error {
	f, err := os.CreateTemp(dir, probeName)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("x"))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (r *report) space(h Host, dir string, low, critical storage.SpaceMark) {
	const check = "free space"
	free, total, err := h.Space(dir)
	if err != nil {
		r.add(check, Unknown, err.Error(), "")
		return
	}
	lowBytes, criticalBytes := disk.Marks(low, critical, total)
	message := fmt.Sprintf("%s of %s", Round(free), Round(total))
	const remedy = "free space or enlarge the disk, or name a folder elsewhere with --data"
	switch {
	case free < criticalBytes:
		r.add(check, Unfit, message+": below the critical mark of "+Round(criticalBytes)+" (--disk-critical), a server refuses all changes", remedy)
	case free < lowBytes:
		r.add(check, Warning, message+": below the low mark of "+Round(lowBytes)+" (--disk-low), a server refuses new tasks", remedy)
	case free < 2*lowBytes || free < total/spaceWarn:
		r.add(check, Warning, message+": new tasks are refused below the low mark of "+Round(lowBytes)+" (--disk-low)", remedy)
	default:
		r.add(check, Fit, message, "")
	}
	r.measured(Round(free), "limit "+Round(lowBytes))
}

// fileSystems maps the magic numbers of file systems to their properties.
var fileSystems = map[int64]struct {
	name   string
	memory bool   // true if a power loss removes the content
	remote bool   // true if the content is on another host
	layer  string // why the content is not durable; "" if it is
}{
	unix.TMPFS_MAGIC:      {name: "tmpfs", memory: true},
	unix.RAMFS_MAGIC:      {name: "ramfs", memory: true},
	unix.NFS_SUPER_MAGIC:  {name: "NFS", remote: true},
	unix.SMB2_SUPER_MAGIC: {name: "SMB", remote: true},
	unix.CIFS_SUPER_MAGIC: {name: "CIFS", remote: true},
	unix.FUSE_SUPER_MAGIC: {name: "FUSE", remote: true},
	0x01021997:            {name: "9p", remote: true},
	unix.OVERLAYFS_SUPER_MAGIC: {
		name: "overlay", layer: "it is a container's own layer, removed with the container",
	},
	unix.EXT4_SUPER_MAGIC:  {name: "ext4"},
	unix.XFS_SUPER_MAGIC:   {name: "XFS"},
	unix.BTRFS_SUPER_MAGIC: {name: "Btrfs"},
	0x2fc12fc1:             {name: "ZFS"},
	unix.F2FS_SUPER_MAGIC:  {name: "F2FS"},
}

func (r *report) fileSystem(h Host, dir string, durability storage.Durability) {
	const check = "file system"
	magic, err := h.FileSystem(dir)
	if err != nil {
		r.add(check, Unknown, err.Error(), "")
		return
	}
	f, known := fileSystems[magic]
	switch {
	case !known:
		r.add(check, Warning, fmt.Sprintf("unknown, of type %#x", magic), "check that its fsync writes data to the disk")
	case f.memory && durability != storage.None:
		r.add(check, Unfit, f.name+": its content is lost on a power loss, whatever --durability says", "name a folder on a disk with --data")
	case f.memory:
		r.add(check, Warning, f.name+": its content is lost on a power loss", "name a folder on a disk with --data")
	case f.remote:
		r.add(check, Warning, f.name+": its locks and fsync may not give the guarantees that a server needs", "name a folder on a disk of this host with --data")
	case f.layer != "":
		r.add(check, Warning, f.name+": "+f.layer, "mount a volume, and name it with --data")
	default:
		r.add(check, Fit, f.name, "")
	}
}

// These limit the fsync measurement.
const (
	fsyncsMax   = 200
	fsyncTime   = 2 * time.Second
	fsyncBytes  = 4 << 10
	fsyncSlow   = 20 * time.Millisecond
	fsyncTooFew = 10 * time.Microsecond
)

func (r *report) fsync(ctx context.Context, dir string, durability storage.Durability) {
	const check = "fsync"
	times, err := measureFsync(ctx, dir)
	if err != nil || len(times) == 0 {
		r.add(check, Unknown, fmt.Sprintf("not measured: %v", err), "")
		return
	}
	r.judgeFsync(check, times, durability)
}

func (r *report) judgeFsync(check string, times []time.Duration, durability storage.Durability) {
	slices.Sort(times)
	median, slowest := times[len(times)/2], times[len(times)-1]
	message := fmt.Sprintf("median %v, slowest %v of %d", median.Round(time.Microsecond), slowest.Round(time.Microsecond), len(times))
	switch {
	case median > fsyncSlow && durability == storage.Sync:
		r.add(check, Warning, fmt.Sprintf("%s: an acknowledgement waits for one", message), "use a faster disk, or --durability interval if a power loss may take its last moments")
	case median < fsyncTooFew:
		r.add(check, Warning, message+": faster than any disk", "check that its fsync writes data to the disk")
	default:
		r.add(check, Fit, message, "")
	}
	limit := ""
	if durability == storage.Sync {
		limit = "limit " + fsyncSlow.String()
	}
	r.measured(median.Round(time.Microsecond).String(), limit)
}

// measureFsync measures appends of a few kilobytes, each followed by an fsync, as a store writes
// its log.
func measureFsync(ctx context.Context, dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, probeName)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, fsyncBytes)
	for begin := time.Now(); len(times) < fsyncsMax && time.Since(begin) < fsyncTime && ctx.Err() == nil; {
		if _, err := f.Write(block); err != nil {
			return times, err
		}
		start := time.Now()
		if err := f.Sync(); err != nil {
			return times, err
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}

func shardFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, storage.ShardsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, storage.ShardsFolder, e.Name())
		info, err := os.Stat(path) // follows a link to a folder
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			out = append(out, path)
		}
	}
	return out, nil
}
