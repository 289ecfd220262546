package observe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func filesOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestVirtualisation(t *testing.T) {
	guest, metal := "processor : 0\nflags\t\t: fpu sse hypervisor\n", "processor : 0\nflags\t\t: fpu sse\n"
	for want, files := range map[string]map[string]string{
		"unknown":      {},
		"none":         {"proc/cpuinfo": metal, "sys/class/dmi/id/sys_vendor": "Dell Inc.\n"},
		"a hypervisor": {"proc/cpuinfo": guest},
		"KVM":          {"proc/cpuinfo": guest, "sys/class/dmi/id/product_name": "KVM\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
		"QEMU":         {"proc/cpuinfo": guest, "sys/class/dmi/id/product_name": "Standard PC\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
		"Amazon EC2":   {"proc/cpuinfo": guest, "sys/class/dmi/id/product_name": "m7i.large\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n"},
		"Hyper-V":      {"sys/class/dmi/id/product_name": "Virtual Machine\n", "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n"},
		"Xen":          {"sys/hypervisor/type": "xen\n"},
		"gVisor":       {"proc/version": "Linux version 4.4.0 (gVisor)\n"},
	} {
		assert.Equal(t, want, virtualisation(filesOf(t, files)), want)
	}
	assert.Equal(t, "none", virtualisation(filesOf(t, map[string]string{
		"proc/cpuinfo": metal, "sys/class/dmi/id/product_name": "c7i.metal-24xl\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
	})), "a bare-metal machine of the same vendor")
}

func TestContainer(t *testing.T) {
	disk := "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
	for want, files := range map[string]map[string]string{
		"unknown":     {},
		"none":        {"proc/1/cgroup": "0::/init.scope\n", "proc/self/mountinfo": disk},
		"Docker":      {".dockerenv": ""},
		"Podman":      {"run/.containerenv": ""},
		"lxc-special": {"run/systemd/container": "lxc-special\n"},
		"Kubernetes":  {"proc/1/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/docker-1.scope\n"},
		"a container": {"proc/1/cgroup": "0::/\n", "proc/self/mountinfo": "22 1 0:5 / / rw shared:1 - overlay overlay rw\n"},
	} {
		assert.Equal(t, want, container(filesOf(t, files)), want)
	}
}
