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

// unknown is the value of every text that could not be read.
const unknown = "unknown"

// Host describes the machine that this process runs on. Filesystem and fsync latency are those of
// dataDir, which must exist; the measurement writes a small file there for about half a second at
// most and removes it. The measurement of hops between threads takes another fifth of a second.
// CPUs is the number of CPUs that this process may use, and GOMAXPROCS that of this process. Values
// that cannot be read are "unknown" or 0, so there is no error.
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
		// Read before this process adds to the pressure.
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

// cpuModel returns the model of the first CPU. Some architectures do not report one.
func cpuModel(fs procfs.FS) string {
	cpus, err := fs.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return unknown
	}
	return known(cpus[0].ModelName)
}

// memoryMB returns the machine's memory in units of 2^20 bytes, or 0 if unknown.
func memoryMB(fs procfs.FS) float64 {
	info, err := fs.Meminfo()
	if err != nil || info.MemTotalBytes == nil {
		return 0
	}
	return float64(*info.MemTotalBytes) / (1 << 20)
}

// gomaxprocsSource returns the origin of a GOMAXPROCS of procs by the rules of Go's runtime: the
// environment variable if it is a positive number, else the cgroup's CPU limit rounded up (but at
// least 2) if it is below the number of CPUs, else the number of CPUs. A value that these rules do
// not explain, for example one that the program set, is "unknown".
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
