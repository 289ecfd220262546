package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CPU is one that this process may use.
type CPU struct {
	ID int
	// Core is the same for CPUs that are threads of one core. Where the kernel does not say, each CPU has a core of its own.
	Core string
}

// CPUs returns the CPUs that this process may use, in the order of their numbers.
func CPUs() ([]CPU, error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, fmt.Errorf("find the CPUs of this process: %w", err)
	}
	var ids []int
	for id := range 8 * int(unsafe.Sizeof(may)) {
		if may.IsSet(id) {
			ids = append(ids, id)
		}
	}
	return coresOf("/", ids), nil
}

// coresOf finds the cores of CPUs in the kernel's files below root.
func coresOf(root string, ids []int) (all []CPU) {
	for _, id := range ids {
		cpu := CPU{ID: id, Core: strconv.Itoa(id)}
		for _, name := range []string{"core_cpus_list", "thread_siblings_list"} { // the second is the name in older kernels
			text, err := os.ReadFile(filepath.Join(root, "sys/devices/system/cpu/cpu"+strconv.Itoa(id), "topology", name))
			if err == nil {
				cpu.Core = strings.TrimSpace(string(text))
				break
			}
		}
		all = append(all, cpu)
	}
	return all
}
