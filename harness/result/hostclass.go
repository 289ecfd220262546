package result

import "fmt"

// Class returns the name of the host class. Hosts of one class share absolute limits. The name
// consists of the number of CPUs that the process may use, their architecture, whether the machine
// is virtual, and the file system of the data folder, as in "2-cpus-amd64-virtual-ext4". If the
// control group's quota is below all CPUs, the quota follows their number. All of these are
// constant on one host. The clock rate, the measured latency of fsync and the model of the CPU are
// not part of the name, because they differ between hosts that a cloud offers as equal. Class
// returns "" if any part is unknown.
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

// quota returns the part of the class name for the quota of the control group: "-150-percent" for
// one and a half CPUs, and "" for a quota of at least all CPUs. known is false if the quota was not
// read.
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
