package admin

import (
	"context"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// Service implements prony.admin.v1.AdminService. It is safe for concurrent use.
type Service struct {
	laterCalls
	*accessAdmin
	*clusterAdmin

	shards *shard.Group
	limits queue.Limits
	host   Host
	router *route.Router // nil without a cluster
}

// laterCalls answers calls of a later schema. It is a type of its own so that the methods of clusterAdmin take precedence.
type laterCalls struct {
	adminpb.UnimplementedAdminServiceServer
}

// Host is the server that the admin service is part of.
type Host interface {
	// Status says how the server is.
	Status() Status
	// Backup makes a backup as backup.Make does, one at a time, and returns its path and size.
	Backup(ctx context.Context, name string) (path string, bytes int64, err error)
}

// Status is how a server is.
type Status struct {
	Version     string
	Build       *adminpb.Build
	StartedAtMs int64
	Durability  string
	NotReady    string // why it is not ready; "" if it is
	Clock       time.Time
	// WallClockAhead is how far the host's wall clock is ahead of Clock.
	WallClockAhead time.Duration
	// Disk is the state of the data folder's file system; nil if it is unknown.
	Disk *adminpb.DiskStatus
}

// New returns a service for the shards of a group and the registry of their tenants.
func New(g *shard.Group, limits queue.Limits, registry *access.Registry, host Host) *Service {
	a := &Service{shards: g, limits: limits, host: host}
	a.accessAdmin = &accessAdmin{registry: registry, queues: a.queuesOfTenants, refuse: a.refuse}
	a.clusterAdmin = &clusterAdmin{shards: g.Len}
	return a
}

// InCluster makes the service that of a node of a cluster: calls go to the leaders of their shards. Call InCluster before the service is
// served.
func (a *Service) InCluster(r *route.Router) { a.cluster, a.router = r.Cluster(), r }

// refuse returns the status for an error, with the leader if another node leads.
func (a *Service) refuse(err error) error { return call.Status(route.Explain(a.cluster, err)) }

// queuesOfTenants counts each tenant's queues.
func (a *Service) queuesOfTenants(ctx context.Context) (map[string]uint64, error) {
	stats, err := shard.AwaitReply(ctx, a.shards.Stats)
	if err != nil {
		return nil, err
	}
	n := map[string]uint64{}
	for i := range stats {
		n[stats[i].Tenant]++
	}
	return n, nil
}

const (
	pageDefault = 100
	pageMax     = 1_000
)

// Range returns the least and the greatest value of a number in a request of this service alone, by its name in the API, and whether it
// has a range. 0 means the default where the range begins above it.
func Range(field string) (least, most uint64, ok bool) {
	if field == "page_size" {
		return 1, pageMax, true
	}
	most, ok = access.Range(field)
	return 0, most, ok
}

// pageSize checks the size of a page; 0 means the default.
func pageSize(n uint32) (int, error) {
	if n > pageMax {
		return 0, queue.Outside("page_size", n, 1, pageMax)
	}
	if n == 0 {
		return pageDefault, nil
	}
	return int(n), nil
}

// queueRequest is a request for one queue.
type queueRequest interface {
	GetTenant() string
	GetQueue() string
}

// target checks the caller and the queue of a request. It returns the tenant.
func target(ctx context.Context, in queueRequest) (tenant string, err error) {
	tenant, err = call.Tenant(ctx, access.Admin, in.GetTenant())
	if err == nil {
		err = call.FieldErr(queue.CheckName("queue", in.GetQueue()))
	}
	return tenant, err
}
