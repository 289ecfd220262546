package observe

import "github.com/prometheus/procfs"

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
