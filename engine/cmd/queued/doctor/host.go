package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/config"
)

// Host contains functions that read the properties of a host. Tests replace them; This returns the
// real ones.
type Host struct {
	Now func() time.Time
	// Synchronised reports whether the host's clock is synchronized.
	Synchronised func() (bool, error)
	// Space returns the free bytes that this user may use, and the total bytes of a folder's file
	// system.
	Space      func(dir string) (free, total uint64, err error)
	FileSystem func(dir string) (int64, error)
	// FileLimit returns the maximum number of open files of the process.
	FileLimit func() (uint64, error)
	// MemoryLimit returns the process's memory limit in bytes; 0 means no limit.
	MemoryLimit func() (uint64, error)
	// CPUQuota returns the CPU quota of the process as a number of processors; 0 means no quota.
	CPUQuota func() (float64, error)
	// Procs returns GOMAXPROCS.
	Procs func() int
	// UID returns the user id of this process.
	UID func() int
}

// This returns the functions for the program's host.
func This() Host {
	return Host{
		Now:          time.Now,
		Synchronised: synchronised,
		Space: func(dir string) (free, total uint64, err error) {
			var s unix.Statfs_t
			if err := unix.Statfs(dir, &s); err != nil {
				return 0, 0, err
			}
			return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
		},
		FileSystem: func(dir string) (int64, error) {
			var s unix.Statfs_t
			err := unix.Statfs(dir, &s)
			return int64(s.Type), err //nolint:unconvert // the type differs by architecture
		},
		FileLimit: func() (uint64, error) {
			var l unix.Rlimit
			err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
			return l.Cur, err
		},
		MemoryLimit: func() (uint64, error) { return memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup") },
		CPUQuota:    func() (float64, error) { return cpuQuota("/proc/self/cgroup", "/sys/fs/cgroup") },
		Procs:       func() int { return runtime.GOMAXPROCS(0) },
		UID:         os.Geteuid,
	}
}

func synchronised() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, fmt.Errorf("ask for the clock's state: %w", err)
	}
	const unsynchronised = 5 // TIME_ERROR
	return state != unsynchronised, nil
}

// eachGroup reads the named file in each of the process's control groups, from the group of the
// process up to the root, and calls visit with the content. It supports only version 2 of control
// groups. On other hosts it calls visit for none. it.
func eachGroup(self, root, name string, visit func(text string) error) error {
	text, err := os.ReadFile(self)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the control group: %w", err)
	}
	for line := range bytes.Lines(text) {
		path, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::"))
		if !found {
			continue
		}
		for dir := filepath.Join("/", string(path)); ; dir = filepath.Dir(dir) {
			text, err := os.ReadFile(filepath.Join(root, dir, name))
			if err == nil {
				err = visit(strings.TrimSpace(string(text)))
			} else if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			if dir == "/" {
				break
			}
		}
	}
	return nil
}

func memoryLimit(self, root string) (least uint64, err error) {
	err = eachGroup(self, root, "memory.max", func(text string) error {
		if text == "max" {
			return nil
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err == nil && (least == 0 || n < least) {
			least = n
		}
		return err
	})
	return least, err
}

func cpuQuota(self, root string) (least float64, err error) {
	err = eachGroup(self, root, "cpu.max", func(text string) error {
		quota, period, _ := strings.Cut(text, " ")
		if quota == "max" {
			return nil
		}
		q, err := strconv.ParseFloat(quota, 64)
		p, perr := strconv.ParseFloat(period, 64)
		if err = errors.Join(err, perr); err != nil || p <= 0 {
			return errors.Join(err, fmt.Errorf("%q is no quota", text))
		}
		if n := q / p; least == 0 || n < least {
			least = n
		}
		return nil
	})
	return least, err
}

// earliest is a time before this program was written. A clock that shows an earlier time is wrong.
var earliest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *report) clock(h Host) {
	const check = "clock"
	now := h.Now()
	if now.Before(earliest) {
		r.add(check, Unfit, fmt.Sprintf("it shows %s", now.UTC().Format(time.RFC3339)), "set the clock: delays, expiries and certificates depend on it")
		return
	}
	switch fine, err := h.Synchronised(); {
	case err != nil:
		r.add(check, Unknown, err.Error(), "check that chrony or systemd-timesyncd synchronizes the clock")
	case !fine:
		r.add(check, Warning, "nothing synchronizes it", "run chrony or systemd-timesyncd: delays and expiries depend on it")
	default:
		r.add(check, Fit, "synchronised", "")
	}
}

func (r *report) cpus(h Host) {
	const check = "processors"
	quota, err := h.CPUQuota()
	procs := h.Procs()
	switch {
	case err != nil:
		r.add(check, Unknown, err.Error(), "")
	// The Go runtime rounds the quota up, and uses at least two processors.
	case quota > 0 && float64(procs) > max(quota+0.999, 2):
		r.add(check, Warning, fmt.Sprintf("GOMAXPROCS is %d, but the CPU quota is %.1f: the server would be throttled repeatedly", procs, quota),
			"unset GOMAXPROCS, or set it to the quota")
	case quota > 0:
		r.add(check, Fit, fmt.Sprintf("%d, with a quota of %.1f", procs, quota), "")
	default:
		r.add(check, Fit, fmt.Sprintf("%d, without a quota", procs), "")
	}
	if err == nil && quota > 0 {
		r.measured(fmt.Sprintf("%d CPUs", procs), fmt.Sprintf("limit %.1f", quota))
	} else if err == nil {
		r.measured(fmt.Sprintf("%d CPUs", procs), "")
	}
}

// These are the numbers of files that a server opens, for each shard's store and for connections,
// and thresholds of other checks.
const (
	filesPerShard    = 1_000
	filesBeside      = 1_000
	filesLeast       = 256
	memoryLoaded     = 512 << 20 // bytes of memtables, caches, windows and buffers of all shards
	spaceWarn        = 10        // warn if less than 1/spaceWarn of the disk is free
	limitNOFILERatio = 2
)

func (r *report) files(h Host, shards int) {
	const check = "open files"
	need := uint64(filesBeside + filesPerShard*max(shards, 1))
	remedy := fmt.Sprintf("raise it to %d or more: ulimit -n, or LimitNOFILE= of the systemd unit", limitNOFILERatio*need)
	limit, err := h.FileLimit()
	switch {
	case err != nil:
		r.add(check, Unknown, err.Error(), "")
		return
	case limit < filesLeast:
		r.add(check, Unfit, fmt.Sprintf("the limit is %d", limit), remedy)
	case limit < need:
		r.add(check, Warning, fmt.Sprintf("the limit is %d; stores and connections may need %d", limit, need), remedy)
	default:
		r.add(check, Fit, fmt.Sprintf("the limit is %d", limit), "")
	}
	r.measured(fmt.Sprint(limit), fmt.Sprintf("limit %d", need))
}

func (r *report) memory(h Host) {
	const check = "memory"
	limit, err := h.MemoryLimit()
	switch {
	case err != nil:
		r.add(check, Unknown, err.Error(), "")
		return
	case limit == 0:
		r.add(check, Fit, "no limit by a control group", "")
		return
	case limit < memoryLoaded:
		r.add(check, Warning, fmt.Sprintf("the control group's limit is %s; under load a server may need %s", Round(limit), Round(memoryLoaded)),
			"raise the limit, or lower --limits-cache-max")
	default:
		r.add(check, Fit, "the control group's limit is "+Round(limit), "")
	}
	r.measured(Round(limit), "limit "+Round(memoryLoaded))
}

// Round formats a number of bytes with few digits.
func Round(bytes uint64) string {
	for _, unit := range []uint64{1 << 40, 1 << 30, 1 << 20, 1 << 10} {
		if bytes >= 10*unit {
			return config.FormatSize(bytes / unit * unit)
		}
	}
	return config.FormatSize(bytes)
}
