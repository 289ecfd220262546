package observe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hypervisors maps texts in the DMI tables of virtual machines to names of hypervisors. A text is a
// part of the vendor or product, in lower case.
var hypervisors = []struct{ part, name string }{
	{"kvm", "KVM"},
	{"qemu", "QEMU"},
	{"amazon ec2", "Amazon EC2"},
	{"google compute engine", "Google Compute Engine"},
	{"vmware", "VMware"},
	{"virtualbox", "VirtualBox"},
	{"innotek", "VirtualBox"},
	{"virtual machine", "Hyper-V"}, // product name that Microsoft uses
	{"xen", "Xen"},
	{"bochs", "Bochs"},
	{"parallels", "Parallels"},
	{"openstack", "OpenStack"},
	{"digitalocean", "DigitalOcean"},
	{"hetzner", "Hetzner"},
	{"firecracker", "Firecracker"},
}

// virtualisation returns the name of the hypervisor, which it derives from the host's files below
// root. It returns "none" if the CPU does not report a hypervisor, "unknown" if no file contains
// the information, and "a hypervisor" if there is one with an unknown name.
func virtualisation(root string) string {
	if strings.Contains(readText(root, "proc/version"), "gVisor") {
		return "gVisor"
	}
	// A bare-metal EC2 machine has the same vendor as a virtual one.
	metal := strings.Contains(readText(root, "sys/class/dmi/id/product_name"), ".metal")
	for _, file := range []string{
		"sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/board_vendor", "sys/class/dmi/id/bios_vendor",
		"sys/hypervisor/type", "proc/device-tree/hypervisor/compatible",
	} {
		text := strings.ToLower(readText(root, file))
		for _, h := range hypervisors {
			if !metal && strings.Contains(text, h.part) {
				return h.name
			}
		}
	}
	cpu := readText(root, "proc/cpuinfo")
	for line := range strings.Lines(cpu) {
		name, flags, found := strings.Cut(line, ":")
		switch {
		case !found || strings.TrimSpace(name) != "flags": // only x86 CPUs have the hypervisor flag
		case slices.Contains(strings.Fields(flags), "hypervisor"):
			return "a hypervisor"
		default:
			return "none"
		}
	}
	return unknown
}

// containers maps texts in control group paths to names of container runtimes.
var containers = []struct{ part, name string }{
	{"kubepods", "Kubernetes"},
	{"docker", "Docker"},
	{"libpod", "Podman"},
	{"containerd", "containerd"},
	{"lxc", "LXC"},
	{"machine.slice", "systemd-nspawn"},
}

// container returns the name of the container runtime that runs this process, which it derives from
// the host's files below root. It returns "none" if no file indicates a container, "a container" if
// the root filesystem is an overlay, and "unknown" if /proc cannot be read.
func container(root string) string {
	for _, mark := range []struct{ file, name string }{
		{".dockerenv", "Docker"},
		{"run/.containerenv", "Podman"},
	} {
		if _, err := os.Stat(filepath.Join(root, mark.file)); err == nil {
			return mark.name
		}
	}
	if name := strings.TrimSpace(readText(root, "run/systemd/container")); name != "" {
		return name
	}
	groups := readText(root, "proc/1/cgroup") + readText(root, "proc/self/cgroup")
	for _, c := range containers {
		if strings.Contains(groups, c.part) {
			return c.name
		}
	}
	mounts := readText(root, "proc/self/mountinfo")
	// ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE ...
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash > 4 && dash+1 < len(fields) && fields[4] == "/" && fields[dash+1] == "overlay" {
			return "a container"
		}
	}
	if groups == "" && mounts == "" {
		return unknown
	}
	return "none"
}

func readText(root, name string) string {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return ""
	}
	return string(data)
}
