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

// CPU is a CPU that this process may use.
type CPU struct {
	ID int
	// Core identifies the core of the CPU. CPUs that are threads of the same core have the same
	// value. If the kernel does not report cores, all values are different.
	Core string
}

// CPUs returns the CPUs that this process may use, ordered by number.
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

func coresOf(root string, ids []int) (all []CPU) {
	for _, id := range ids {
		cpu := CPU{ID: id, Core: strconv.Itoa(id)}
		// Older kernels use the second name.
		for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
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
