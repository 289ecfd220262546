package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClassOfAHost(t *testing.T) {
	host := Host{CPUs: 2, Arch: "amd64", Virtualisation: "KVM", Filesystem: "ext4", CgroupCPUMax: "max", CPUModel: "a", FsyncMsP50: 1}
	const class = "2-cpus-amd64-virtual-ext4"
	assert.Equal(t, class, host.Class())
	for name, c := range map[string]struct {
		want   string
		change func(*Host)
	}{
		"another hypervisor":   {class, func(h *Host) { h.Virtualisation = "a hypervisor" }},
		"another day":          {class, func(h *Host) { h.FsyncMsP50, h.Kernel, h.CPUModel = 2, "7", "b" }},
		"the whole machine":    {"2-cpus-amd64-metal-ext4", func(h *Host) { h.Virtualisation = "none" }},
		"more CPUs":            {"16-cpus-amd64-virtual-ext4", func(h *Host) { h.CPUs = 16 }},
		"another disk":         {"2-cpus-amd64-virtual-tmpfs", func(h *Host) { h.Filesystem = "tmpfs" }},
		"a quota":              {"2-cpus-150-percent-amd64-virtual-ext4", func(h *Host) { h.CgroupCPUMax = "150000 100000" }},
		"a quota of all":       {class, func(h *Host) { h.CgroupCPUMax = "200000 100000" }},
		"a quota that is none": {"", func(h *Host) { h.CgroupCPUMax = "0 0" }},
		"no CPUs":              {"", func(h *Host) { h.CPUs = 0 }},
		"not recorded":         {"", func(h *Host) { h.Virtualisation = "" }},
		"unknown file system":  {"", func(h *Host) { h.Filesystem = "unknown" }},
		"unknown quota":        {"", func(h *Host) { h.CgroupCPUMax = "unknown" }},
	} {
		h := host
		c.change(&h)
		assert.Equal(t, c.want, h.Class(), name)
	}
}
