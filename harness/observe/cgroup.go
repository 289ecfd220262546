package observe

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// unlimited is what a cgroup without a limit reports in cgroup v2.
const unlimited = "max"

// cgroups contains the paths of a process in the control group hierarchies, and the mount points of
// these hierarchies.
type cgroups struct {
	groups []procfs.Cgroup
	mounts []*procfs.MountInfo
}

// readCgroups returns the control groups of this process. If they cannot be read, the result is
// empty, and all limits are unknown.
func readCgroups() cgroups {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return cgroups{}
	}
	return cgroupsOf(proc)
}

func cgroupsOf(proc procfs.FS) cgroups {
	self, err := proc.Self()
	if err != nil {
		return cgroups{}
	}
	groups, err := self.Cgroups()
	if err != nil {
		return cgroups{}
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return cgroups{}
	}
	return cgroups{groups: groups, mounts: mounts}
}

// cpuMax returns the lowest CPU limit of all groups from the process's group up to the topmost
// visible group. The limit has the form "QUOTA PERIOD" of cgroup v2, with both numbers in
// microseconds. It is "max" if there is no limit.
func (c cgroups) cpuMax() string {
	return c.tightest("cpu", func(version int, dir string) (limit float64, text string, err error) {
		var quota, period string
		if version == 1 {
			if quota, err = readLine(dir, "cpu.cfs_quota_us"); err != nil {
				return 0, "", err
			}
			if quota == "-1" {
				return math.Inf(1), unlimited, nil
			}
			if period, err = readLine(dir, "cpu.cfs_period_us"); err != nil {
				return 0, "", err
			}
			text = quota + " " + period
		} else if text, err = readLine(dir, "cpu.max"); err != nil {
			return 0, "", err
		}
		if strings.HasPrefix(text, unlimited) {
			return math.Inf(1), unlimited, nil
		}
		cpus, ok := cpuLimit(text)
		if !ok {
			return 0, "", errors.New("malformed CPU limit " + strconv.Quote(text))
		}
		return cpus, text, nil
	})
}

// memoryMax returns the lowest memory limit of the same groups, in bytes. Like cpuMax, it returns
// "max" if there is no limit.
func (c cgroups) memoryMax() string {
	return c.tightest("memory", func(version int, dir string) (float64, string, error) {
		file := "memory.max"
		if version == 1 {
			file = "memory.limit_in_bytes"
		}
		text, err := readLine(dir, file)
		if err != nil {
			return 0, "", err
		}
		if text == unlimited {
			return math.Inf(1), unlimited, nil
		}
		limit, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, "", err
		}
		// If there is no limit, version 1 reports the size of the largest possible number of whole
		// pages.
		if version == 1 && limit >= math.MaxInt64-(1<<20) {
			return math.Inf(1), unlimited, nil
		}
		return float64(limit), text, nil
	})
}

// tightest reads the limit of each group from the process's group up to the top of the mounted
// hierarchy. It returns the text of the lowest limit, or "unknown" if no group could be read.
func (c cgroups) tightest(controller string, read func(version int, dir string) (float64, string, error)) string {
	version, mount, dir, ok := c.locate(controller)
	if !ok {
		return unknown
	}
	lowest, answer := math.Inf(1), unknown
	for {
		limit, text, err := read(version, dir)
		switch {
		case err == nil:
			if answer == unknown || limit < lowest {
				lowest, answer = limit, text
			}
		case !errors.Is(err, fs.ErrNotExist):
			return unknown
		case answer == unknown && version == 2 && isRootGroup(dir):
			// The root group of version 2 has no files for limits, because it cannot be limited.
			answer = unlimited
		}
		if dir == mount {
			return answer
		}
		dir = filepath.Dir(dir)
	}
}

// unified returns the folder of the process's group in the hierarchy of version 2. ok is false if
// no such hierarchy is mounted.
func (c cgroups) unified() (dir string, ok bool) {
	for _, g := range c.groups {
		if g.HierarchyID == 0 {
			_, _, dir, ok = cgroups{groups: []procfs.Cgroup{g}, mounts: c.mounts}.locate("cpu")
			return dir, ok
		}
	}
	return "", false
}

// locate finds the hierarchy that manages controller. It returns the mount point of this hierarchy,
// and the folder of the process's group in it. Each controller belongs to one hierarchy: to a
// hierarchy of version 1 if a line of /proc/self/cgroup names the controller, and to the hierarchy
// of version 2 otherwise.
func (c cgroups) locate(controller string) (version int, mount, dir string, ok bool) {
	var group *procfs.Cgroup
	for i := range c.groups {
		g := &c.groups[i]
		if slices.Contains(g.Controllers, controller) {
			group, version = g, 1
			break
		}
		if g.HierarchyID == 0 {
			group, version = g, 2
		}
	}
	if group == nil {
		return 0, "", "", false
	}
	for _, m := range c.mounts {
		if version == 1 {
			if _, has := m.SuperOptions[controller]; m.FSType != "cgroup" || !has {
				continue
			}
		} else if m.FSType != "cgroup2" {
			continue
		}
		mount = filepath.Clean(m.MountPoint)
		// A container may see only a part of the hierarchy: the root of the mount is then not "/".
		// If the group's path is not below that root, the mount point shows the process's own
		// group.
		inside, err := filepath.Rel(m.Root, group.Path)
		if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
			inside = "."
		}
		return version, mount, filepath.Join(mount, inside), true
	}
	return 0, "", "", false
}

// isRootGroup reports whether dir is the root of the version 2 hierarchy. The root is the only
// group without a type.
func isRootGroup(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
	return errors.Is(err, fs.ErrNotExist)
}

// CPUTime returns the CPU time that the control groups of this process allow, as a number of CPUs:
// 1.5 means one and a half seconds per second. It returns +Inf if there is no limit or if the limit
// cannot be read.
func CPUTime() float64 {
	limit, ok := cpuLimit(readCgroups().cpuMax())
	if !ok {
		return math.Inf(1)
	}
	return limit
}

// cpuLimit returns the number of CPUs that a limit of the form "QUOTA PERIOD" allows. ok is false
// for any other text.
func cpuLimit(cpuMax string) (cpus float64, ok bool) {
	quotaText, periodText, found := strings.Cut(cpuMax, " ")
	if !found {
		return 0, false
	}
	quota, err := strconv.ParseFloat(quotaText, 64)
	if err != nil || quota <= 0 {
		return 0, false
	}
	period, err := strconv.ParseFloat(periodText, 64)
	if err != nil || period <= 0 {
		return 0, false
	}
	return quota / period, true
}

func readLine(dir, file string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}
