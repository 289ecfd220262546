package node

import (
	"context"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// clockEvery is how often watchClock reads the clock.
const clockEvery = 500 * time.Millisecond

// slewedMin is how far the wall clock must differ from the engine's for the shards' sleeps to be worth correcting.
const slewedMin = time.Millisecond

// watchClock slews the clock also between its readings, notifies the shards while the clock is slewed, and keeps the gRPC health up to
// date, until ctx ends.
func (n *Node) watchClock(ctx context.Context) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		n.clock.NowMs()
		if n.clock.Offset().Abs() >= slewedMin {
			n.shards.ClockMoved()
		}
		n.showHealth()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// showHealth sets the status of the gRPC health service: the node serves unless its clock does not allow it to lead. A stopping node
// keeps its status.
func (n *Node) showHealth() {
	status := healthpb.HealthCheckResponse_SERVING
	if n.cluster != nil && !n.cluster.MayLead() {
		status = healthpb.HealthCheckResponse_NOT_SERVING
	}
	services := []string{"", queuepb.QueueService_ServiceDesc.ServiceName}
	if n.admin != nil {
		services = append(services, adminpb.AdminService_ServiceDesc.ServiceName)
	}
	for _, service := range services {
		n.health.SetServingStatus(service, status)
	}
}
