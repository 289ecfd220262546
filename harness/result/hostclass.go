package result

import "fmt"

// Class returns the name of the host class: hosts of one class share the limits that are figures. It names the CPUs that the process may use and
// their architecture, whether the machine is virtual, and the file system of the data folder, as in "2-cpus-amd64-virtual-ext4"; a quota of the
// control group that is less than all CPUs stands behind them. All of these stay the same from day to day on one host. The clock rate, the measured
// latency of fsync and the model of the CPU are not in it: they differ between hosts that a cloud gives out as equal. Class returns "" if any part is
// not known.
func (h Host) Class() string {
	unknown := func(text string) bool { return text == "" || text == "unknown" }
	quota, known := h.quota()
	if h.CPUs <= 0 || unknown(h.Arch) || unknown(h.Virtualisation) || unknown(h.Filesystem) || !known {
		return ""
	}
	machine := "virtual"
	if h.Virtualisation == "none" {
		machine = "metal"
	}
	return fmt.Sprintf("%d-cpus%s-%s-%s-%s", h.CPUs, quota, h.Arch, machine, h.Filesystem)
}

// quota returns what the quota of the control group adds to the name of the class: "-150-percent" for one and a half CPUs, and "" for a
// quota that leaves all of them. known is false if the quota was not read.
func (h Host) quota() (name string, known bool) {
	if h.CgroupCPUMax == "max" {
		return "", true
	}
	var quota, period float64
	if _, err := fmt.Sscanf(h.CgroupCPUMax, "%g %g", &quota, &period); err != nil || !(quota > 0) || !(period > 0) {
		return "", false
	}
	if quota >= period*float64(h.CPUs) {
		return "", true
	}
	return fmt.Sprintf("-%.0f-percent", 100*quota/period), true
}
