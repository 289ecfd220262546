package node

import (
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/storage/disk"
)

// diskService is the name under which the gRPC health service says whether the disk has enough space for everything.
const diskService = "disk"

// watchSpace begins to watch the free space of the data folder.
func (n *Node) watchSpace(c Config) {
	n.space = disk.WatchSpace(disk.SpaceOptions{
		FS: c.fs, Dir: c.DataDir, Low: c.DiskLow, Critical: c.DiskCritical, Log: c.Log, Changed: n.spaceChanged,
	})
}

// spaceChanged makes the health service say what the disk allows. The node stays ready: it reads, and below the low mark
// only it also works off what it holds.
func (n *Node) spaceChanged(state disk.SpaceState) {
	serving := healthpb.HealthCheckResponse_SERVING
	if state > disk.SpaceOK {
		serving = healthpb.HealthCheckResponse_NOT_SERVING
	}
	n.health.SetServingStatus(diskService, serving)
}

// diskState is a state as the admin service writes it.
func diskState(s disk.SpaceState) adminpb.DiskState {
	return adminpb.DiskState(s) + adminpb.DiskState_DISK_STATE_OK
}

// diskStatus is what the admin service says of the disk; nil where the free space is not known.
func (n *Node) diskStatus() *adminpb.DiskStatus {
	u := n.space.Usage()
	if u.Total == 0 {
		return nil
	}
	return &adminpb.DiskStatus{
		State: diskState(n.space.State()), TotalBytes: u.Total, FreeBytes: u.Free, AvailableBytes: u.Available,
		LowBytes: u.Low, CriticalBytes: u.Critical, Reason: n.space.Why(),
	}
}

// watchSpace adds what is asked of the disk's free space at each scrape.
func (m *metrics) watchSpace(n *Node) {
	gauge := func(name, help string, labels prometheus.Labels, value func(disk.SpaceUsage) uint64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(n.space.Usage())) }))
	}
	gauge("prony_disk_size_bytes", "Size of the data folder's file system; 0 where it is not known.", nil, func(u disk.SpaceUsage) uint64 { return u.Total })
	gauge("prony_disk_free_bytes", "Bytes of the data folder's file system that the server may still use.", nil, func(u disk.SpaceUsage) uint64 { return u.Free })
	gauge("prony_disk_available_bytes", "Free bytes without those that the stores will need for what they hold in memory. They are compared with the marks.", nil,
		func(u disk.SpaceUsage) uint64 { return u.Available })
	const markHelp = "Marks of the available bytes: below low what would grow the store is refused, below critical every change."
	gauge("prony_disk_mark_bytes", markHelp, prometheus.Labels{"mark": "low"}, func(u disk.SpaceUsage) uint64 { return u.Low })
	gauge("prony_disk_mark_bytes", markHelp, prometheus.Labels{"mark": "critical"}, func(u disk.SpaceUsage) uint64 { return u.Critical })
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "prony_disk_state", Help: "What the disk's free space allows: 0 everything, 1 nothing that grows the store, 2 no changes, 3 no changes of other nodes either.",
	}, func() float64 { return float64(n.space.State()) }))
	refusals := func(state string, value func() uint64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "prony_disk_refusals_total", Help: "Commands that were refused for lack of disk space, by the mark.", ConstLabels: prometheus.Labels{"mark": state},
		}, func() float64 { return float64(value()) }))
	}
	refusals("low", func() uint64 { low, _ := n.space.Refusals(); return low })
	refusals("critical", func() uint64 { _, critical := n.space.Refusals(); return critical })
}
