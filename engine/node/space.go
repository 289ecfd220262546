package node

import (
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/storage/disk"
)

// diskService is the name under which the gRPC health service says whether the disk has enough space for everything.
const diskService = "disk"

// startRoom is what a start writes beside the tables of the memtables: manifests, options and the first bytes of logs.
const startRoom = 8 << 20

// watchSpace begins to watch the free space of the data folder. A server without a cluster has memtables that the ballast has room for, so that
// it starts on a full disk whatever the memtables held when it ended.
func (n *Node) watchSpace(c Config) {
	n.space = disk.WatchSpace(disk.SpaceOptions{
		FS: c.fs, Dir: c.DataDir, Low: c.DiskLow, Critical: c.DiskCritical, Log: c.Log, Changed: n.spaceChanged,
		Ballast: uint64(n.shares.LoggedBytes(c.Shards, c.Cluster.On())) + startRoom,
	})
	if ballast := int64(n.space.Ballast()); ballast > 0 && !c.Cluster.On() {
		n.shares.LimitMemTables(max(0, ballast-startRoom), c.Shards)
	}
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

// diskStatus is what the admin service says of the disk; nil where the free space is not known.
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
