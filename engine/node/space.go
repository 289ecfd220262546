package node

import (
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/storage/disk"
)

// diskService is the name of a service in the gRPC health service. Its status reports whether the
// disk has enough space for all operations.
const diskService = "disk"

// startRoom is the number of bytes that a start writes in addition to tables: manifests, options
// and the first bytes of logs.
const startRoom = 8 << 20

// watchSpace starts watching the free space of the data folder. Without a cluster, it also limits
// the memtables to the size of the ballast. The server can then start on a full disk, whatever the
// memtables contained when the server ended.
func (n *Node) watchSpace(c Config) {
	n.space = disk.WatchSpace(disk.SpaceOptions{
		FS: c.fs, Dir: c.DataDir, Low: c.DiskLow, Critical: c.DiskCritical, Log: c.Log, Changed: n.spaceChanged,
		Ballast: uint64(n.shares.LoggedBytes(c.Shards, c.Cluster.On())) + startRoom,
	})
	if ballast := int64(n.space.Ballast()); ballast > 0 && !c.Cluster.On() {
		n.shares.LimitMemTables(max(0, ballast-startRoom), c.Shards)
	}
}

// spaceChanged updates the disk status in the health service. The node remains ready: it can still
// read and, unless space is below the critical mark, complete tasks.
func (n *Node) spaceChanged(state disk.SpaceState) {
	serving := healthpb.HealthCheckResponse_SERVING
	if state > disk.SpaceOK {
		serving = healthpb.HealthCheckResponse_NOT_SERVING
	}
	n.health.SetServingStatus(diskService, serving)
}

// diskStatus returns the disk status for the admin service. It returns nil if the free space is
// unknown.
func (n *Node) diskStatus() *adminpb.DiskStatus {
	u := n.space.Usage()
	if u.Total == 0 {
		return nil
	}
	return &adminpb.DiskStatus{
		State: cluster.DiskState(n.space.State()), TotalBytes: u.Total, FreeBytes: u.Free, AvailableBytes: u.Available,
		LowBytes: u.Low, CriticalBytes: u.Critical, Reason: n.space.Why(),
	}
}
