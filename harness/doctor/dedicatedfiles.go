package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dedicatedHost reads the kernel's files below root. "" is the real root of the host. A method
// returns the value "" if the value is unknown.
type dedicatedHost struct{ root string }

func (h dedicatedHost) path(name string) string { return filepath.Join("/", h.root, name) }

func (h dedicatedHost) read(name string) string {
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

const cpuFolder = "sys/devices/system/cpu"

// governor returns the distinct frequency governors of all CPUs. The second result reports whether
// all of them are "performance".
func (h dedicatedHost) governor() (string, bool) {
	files, err := filepath.Glob(h.path(cpuFolder + "/cpu[0-9]*/cpufreq/scaling_governor"))
	if err != nil {
		return "", false
	}
	var all []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return strings.Join(all, ", "), slices.Equal(all, []string{"performance"})
}

func (h dedicatedHost) turbo() (string, bool) {
	off := ""
	switch {
	case h.read(cpuFolder+"/intel_pstate/no_turbo") != "":
		off = h.read(cpuFolder + "/intel_pstate/no_turbo")
	case h.read(cpuFolder+"/cpufreq/boost") == "0":
		off = "1"
	case h.read(cpuFolder+"/cpufreq/boost") == "1":
		off = "0"
	}
	switch off {
	case "1":
		return "off", true
	case "0":
		return "on", false
	}
	return "", false
}

func (h dedicatedHost) isolated() (string, bool) {
	if _, err := os.Stat(h.path(cpuFolder + "/isolated")); err != nil {
		return "", false
	}
	if cpus := h.read(cpuFolder + "/isolated"); cpus != "" {
		return "CPUs " + cpus, false
	}
	return "none", true
}

func (h dedicatedHost) smt() (string, bool) {
	switch h.read(cpuFolder + "/smt/active") {
	case "0":
		return "off", true
	case "1":
		return "on", false
	}
	return "", false
}

func (h dedicatedHost) hugePages() (string, bool) {
	how := chosen(h.read("sys/kernel/mm/transparent_hugepage/enabled"))
	return how, how == "madvise" || how == "never"
}

func (h dedicatedHost) swap() (string, bool) {
	swaps := h.read("proc/swaps")
	if swaps == "" {
		return "", false
	}
	if strings.Count(swaps, "\n") == 0 { // the file has only its header
		return "none", true
	}
	text := h.read("proc/sys/vm/swappiness")
	swappiness, err := strconv.Atoi(text)
	if err != nil {
		return "", false
	}
	return "swappiness " + text, swappiness <= swappinessMax
}

func (h dedicatedHost) numa() (string, bool) {
	online := h.read("sys/devices/system/node/online")
	if online == "" {
		return "", false
	}
	if online == "0" {
		return "one node", true
	}
	switch h.read("proc/sys/kernel/numa_balancing") {
	case "0":
		return "nodes " + online + ", no balancing", true
	case "":
		return "", false
	}
	return "nodes " + online + ", balanced", false
}

func (h dedicatedHost) clockSource() (string, bool) {
	source := h.read("sys/devices/system/clocksource/clocksource0/current_clocksource")
	return source, slices.Contains([]string{"tsc", "arch_sys_counter", "kvm-clock"}, source)
}

// irqbalance reports whether a process with this name is running. Inside a container the processes
// of the host are not visible, so the answer is unknown.
func (h dedicatedHost) irqbalance() (string, bool) {
	files, err := filepath.Glob(h.path("proc/[0-9]*/comm"))
	if err != nil || len(files) == 0 {
		return "", false
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == "irqbalance" {
			return "running", false
		}
	}
	if h.inContainer(files) {
		return "", false
	}
	return "not running", true
}

// inContainer reports whether the visible processes are only a part of the host's processes. If so,
// there are no kernel threads among them.
func (h dedicatedHost) inContainer(comms []string) bool {
	return !slices.ContainsFunc(comms, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.TrimSpace(string(text)) == "kthreadd"
	})
}

// diskOf returns the folder in sys that describes the queue of the disk that contains dir. known is
// false if the file system has no disk.
func (h dedicatedHost) diskOf(dir string) (queue string, known bool) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", false
	}
	return h.queueOf(unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev))) //nolint:unconvert // the field's type differs between architectures
}

// queueOf returns the folder that describes the queue of a device. If the device is a partition, it
// returns the folder of the disk.
func (h dedicatedHost) queueOf(major, minor uint32) (queue string, known bool) {
	device, err := filepath.EvalSymlinks(h.path(fmt.Sprintf("sys/dev/block/%d:%d", major, minor)))
	if err != nil {
		return "", false
	}
	for _, dir := range []string{device, filepath.Dir(device)} {
		if _, err := os.Stat(filepath.Join(dir, "queue", "scheduler")); err == nil {
			return filepath.Join(dir, "queue"), true
		}
	}
	return "", false
}

func readIn(folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// scheduler returns the I/O scheduler of a disk. A device that supports no other scheduler reports
// "none" without brackets.
func (h dedicatedHost) scheduler(queue string, known bool) (string, bool) {
	if !known {
		return "", false
	}
	list := readIn(queue, "scheduler")
	how := chosen(list)
	if how == "" && list == "none" {
		how = list
	}
	return how, how == "none" || how == "mq-deadline" && readIn(queue, "rotational") == "1"
}

// writeCache returns the type of the disk's write cache. It does not judge the value, which only
// explains the cost of an fsync.
func (dedicatedHost) writeCache(queue string, known bool) Setting {
	s := Setting{
		Name: "write cache", State: Unknown, Advised: "one that a power failure does not empty",
		Why: "with write back the disk must flush its cache for each fsync; write through means a disk without a cache, or one that reports that its cache is safe",
	}
	if known {
		if s.Value = readIn(queue, "write_cache"); s.Value != "" {
			s.State = Note
		}
	}
	return s
}
