package observe

import "github.com/prometheus/procfs"

// MemoryAvailable returns how many bytes of memory the host says that new processes can use without swapping, and whether it says so.
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
