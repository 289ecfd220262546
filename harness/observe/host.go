package observe

import (
	"math"
	"os"
	"runtime"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/result"
)

// unknown is the value of any text that could not be read.
const unknown = "unknown"

// Host describes the machine that this process runs on. The file system and the fsync latency are
// those of dataDir, which must exist. To measure the latency, Host writes a small file there for at
// most about half a second, and then removes it. The measurement of hops between threads takes
// another fifth of a second. CPUs is the number of CPUs that this process may use. GOMAXPROCS is
// the value of this process. Values that cannot be read are "unknown" or 0, so Host returns no
// error.
func Host(dataDir string) result.Host {
	host := result.Host{
		OS:              runtime.GOOS,
		Kernel:          kernelRelease(),
		Arch:            runtime.GOARCH,
		CPUModel:        unknown,
		CPUs:            runtime.NumCPU(),
		GOMAXPROCS:      runtime.GOMAXPROCS(0),
		CgroupCPUMax:    unknown,
		CgroupMemoryMax: unknown,
		Filesystem:      filesystem(dataDir),
		Virtualisation:  virtualisation("/"),
		Container:       container("/"),
		// The pressure is read before this process adds to it.
		PressureCPUPercent: hostFiles{root: "/"}.cpuPressurePercent(),
	}
	if fs, err := procfs.NewDefaultFS(); err == nil {
		host.CPUModel = cpuModel(fs)
		host.MemoryMB = memoryMB(fs)
	}
	limits := readCgroups()
	host.CgroupCPUMax = limits.cpuMax()
	host.CgroupMemoryMax = limits.memoryMax()
	host.GOMAXPROCSSource = gomaxprocsSource(os.Getenv("GOMAXPROCS"), host.GOMAXPROCS, host.CPUs, host.CgroupCPUMax)
	if latency, err := measureFsync(dataDir, fsyncsMax, fsyncsFor); err == nil {
		host.FsyncMsP50 = latency.p50
		host.FsyncMsP99 = latency.p99
		host.FsyncMsMax = latency.max
	}
	if hop, err := measureThreadHop(hopsWarmup, hopsMax, hopsFor); err == nil {
		host.ThreadHopUsP50, host.ThreadHopUsP99 = hop.p50, hop.p99
	}
	return host
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return unknown
	}
	return known(unix.ByteSliceToString(name.Release[:]))
}

func cpuModel(fs procfs.FS) string {
	cpus, err := fs.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return unknown
	}
	return known(cpus[0].ModelName)
}

// memoryMB returns the machine's memory in units of 2^20 bytes. It returns 0 if the size is
// unknown.
func memoryMB(fs procfs.FS) float64 {
	info, err := fs.Meminfo()
	if err != nil || info.MemTotalBytes == nil {
		return 0
	}
	return float64(*info.MemTotalBytes) / (1 << 20)
}

// gomaxprocsSource returns where the value procs of GOMAXPROCS comes from, by the rules of Go's
// runtime. If the environment variable is a positive number, the source is "env". Otherwise the
// source is "cgroup" if the cgroup's CPU limit, rounded up and at least 2, is below the number of
// CPUs. Otherwise the source is "cpus", the number of CPUs. If procs is not the value that follows
// from these rules, for example because the program set it, gomaxprocsSource returns "unknown".
func gomaxprocsSource(env string, procs, cpus int, cpuMax string) string {
	if n, err := strconv.Atoi(env); err == nil && n > 0 {
		if n == procs {
			return "env"
		}
		return unknown
	}
	if limit, ok := cpuLimit(cpuMax); ok {
		allowed := max(2, int(math.Ceil(limit)))
		if allowed < cpus && allowed == procs {
			return "cgroup"
		}
	}
	if procs == cpus {
		return "cpus"
	}
	return unknown
}

func known(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

// MemoryAvailable returns the kernel's estimate of the memory that new processes can use without
// swapping, in bytes. known is false if the kernel does not report it.
func MemoryAvailable() (bytes uint64, known bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, false
	}
	info, err := fs.Meminfo()
	if err != nil || info.MemAvailableBytes == nil {
		return 0, false
	}
	return *info.MemAvailableBytes, true
}
