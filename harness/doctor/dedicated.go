package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/result"
)

// Setting is a property of a dedicated host that the operator can change.
type Setting struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Value   string `json:"value"` // "" if unknown
	Advised string `json:"advised"`
	Why     string `json:"why"`
}

// Limits for a dedicated host. The limits for shared hosts are those of the scenario's validity
// block.
const (
	dedicatedStealPercentMax   = 0.1
	dedicatedForeignPercentMax = 1.0
	dedicatedFsyncMsMax        = 2.0
	dedicatedFilesMin          = 65_536
	swappinessMax              = 1
)

// dedicated adds the settings that are advised for a host that is used only for measuring. If one
// of them is unfit, the report becomes invalid.
func (d *Report) dedicated(root, dir string, s *result.Signals) {
	h := dedicatedHost{root: root}
	disk, diskKnown := h.diskOf(dir)
	for _, c := range []struct {
		name, advised, why string
		of                 func() (value string, fit bool)
	}{
		{
			"governor", "performance on every CPU", "other governors change the clock rate with the load, so a slow phase slows the next one",
			func() (string, bool) { return h.governor() },
		},
		{
			"turbo", "off", "turbo depends on the temperature and on the other cores: a rate may fall after minutes",
			func() (string, bool) { return h.turbo() },
		},
		{
			"isolated CPUs", "none by isolcpus", "the kernel does not balance threads over isolated CPUs: a server confined to them runs all its threads on one. Keep other work away with cpusets",
			func() (string, bool) { return h.isolated() },
		},
		{
			"SMT", "off", "two threads share a core: the speed of one depends on the other",
			func() (string, bool) { return h.smt() },
		},
		{
			"transparent huge pages", "madvise or never", "with always the kernel merges and splits pages during the work, which stalls it",
			func() (string, bool) { return h.hugePages() },
		},
		{
			"swap", fmt.Sprintf("no swap, or vm.swappiness of %d at most", swappinessMax), "reading a swapped-out page takes milliseconds",
			func() (string, bool) { return h.swap() },
		},
		{
			"NUMA", "one node, or no automatic balancing", "balancing unmaps pages to find their users; memory of another node is slower. Confine server and generator to one node each",
			func() (string, bool) { return h.numa() },
		},
		{
			"clock source", "tsc, arch_sys_counter or kvm-clock", "other sources cost at least one system call per reading, and a cycle reads the clock four times",
			func() (string, bool) { return h.clockSource() },
		},
		{
			"irqbalance", "not running", "it moves interrupts between CPUs while the load runs",
			func() (string, bool) { return h.irqbalance() },
		},
		{
			"disk scheduler", "none; mq-deadline of a disk that rotates", "others reorder the writes that an fsync waits for",
			func() (string, bool) { return h.scheduler(disk, diskKnown) },
		},
		{
			"fsync", fmt.Sprintf("a median of %g ms at most", dedicatedFsyncMsMax), "a disk that takes longer is what durability sync measures",
			func() (string, bool) { return milliseconds(d.Host.FsyncMsP50, dedicatedFsyncMsMax) },
		},
		{
			"open files", fmt.Sprintf("a limit of %d at least", dedicatedFilesMin), "each connection uses one, and the store has hundreds open",
			openFiles,
		},
		{
			"steal", fmt.Sprintf("%g %% at most", dedicatedStealPercentMax), "a hypervisor that takes CPU time runs other guests",
			func() (string, bool) { return percent(s.StealPercent, dedicatedStealPercentMax) },
		},
		{
			"other load", fmt.Sprintf("%g %% of all CPUs at most", dedicatedForeignPercentMax), "other processes take CPU time and caches at unpredictable moments",
			func() (string, bool) { return percent(s.ForeignCPUPercent, dedicatedForeignPercentMax) },
		},
	} {
		setting := Setting{Name: c.name, Advised: c.advised, Why: c.why, State: Unfit}
		var fit bool
		setting.Value, fit = c.of()
		switch {
		case setting.Value == "":
			setting.State = Unknown
		case fit:
			setting.State = Fit
		}
		d.Dedicated = append(d.Dedicated, setting)
	}
	d.Dedicated = append(d.Dedicated, h.writeCache(disk, diskKnown))
	for _, setting := range d.Dedicated {
		if setting.State == Unfit {
			d.Verdict = result.Invalid
		}
	}
}

func milliseconds(ms, most float64) (string, bool) {
	if ms <= 0 {
		return "", false
	}
	return strconv.FormatFloat(ms, 'g', 3, 64) + " ms", ms <= most
}

func percent(v *float64, most float64) (string, bool) {
	if v == nil {
		return "", false
	}
	return strconv.FormatFloat(*v, 'g', 3, 64) + " %", *v <= most
}

// openFiles returns the limit of open files of this process. Servers that this process starts
// inherit the limit.
func openFiles() (string, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return "", false
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return "unlimited", true
	}
	return strconv.FormatUint(limit.Cur, 10), limit.Cur >= dedicatedFilesMin
}

// chosen returns the word in brackets in a list such as "always [madvise] never". It returns "" if
// there is none.
func chosen(list string) string {
	_, rest, found := strings.Cut(list, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return ""
	}
	return word
}
