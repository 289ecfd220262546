package admin

import (
	"context"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/planted"
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

// laterCalls answers calls that a newer schema defines. It is a separate type so that the methods
// of clusterAdmin take precedence.
type laterCalls struct {
	adminpb.UnimplementedAdminServiceServer
}

// Host is the server that contains the admin service.
type Host interface {
	// Status returns the server's status.
	Status() Status
	// Backup makes a backup with backup.Make and returns its path and its size in bytes. It makes
	// one backup at a time.
	Backup(ctx context.Context, name string) (path string, bytes int64, err error)
}

// Status is the status of a server.
type Status struct {
	Version     string
	Build       *adminpb.Build
	StartedAtMs int64
	Durability  string
	NotReady    string // why the server is not ready; "" if it is
	Clock       time.Time
	// WallClockAhead is how far the host's wall clock is ahead of Clock.
	WallClockAhead time.Duration
	// Disk is the state of the data folder's file system, or nil if unknown.
	Disk *adminpb.DiskStatus
}

// New returns a service for the shards of a group and the registry of tenants.
func New(g *shard.Group, limits queue.Limits, registry *access.Registry, host Host) *Service {
	a := &Service{shards: g, limits: limits, host: host}
	a.accessAdmin = &accessAdmin{registry: registry, refuse: a.refuse}
	a.clusterAdmin = &clusterAdmin{shards: g.Len}
	return a
}

// InCluster makes the service forward calls to the leaders of their shards. It must be called
// before the service receives calls.
func (a *Service) InCluster(r *route.Router) { a.cluster, a.router = r.Cluster(), r }

// refuse converts an error to a gRPC status. If another node leads, the status names that node.
func (a *Service) refuse(err error) error { return call.Status(route.Explain(a.cluster, err)) }

// forwarded reports whether another node forwarded a call.
func (a *Service) forwarded(ctx context.Context) bool {
	return a.router != nil && !a.router.Routes(ctx)
}

// Range returns the range of a numeric field that occurs only in requests of this service. field is
// the field's name in the API; ok is false for all other fields. If least is above 0, the value 0
// means the default.
func Range(field string) (least, most uint64, ok bool) {
	if field == "page_size" {
		return 1, call.PageMax, true
	}
	most, ok = access.Range(field)
	return 0, most, ok
}

type queueRequest interface {
	GetTenant() string
	GetQueue() string
}

// target validates the caller and the queue of a request, and returns the tenant.
func target(ctx context.Context, in queueRequest) (tenant string, err error) {
	tenant, err = call.Tenant(ctx, access.Admin, in.GetTenant())
	if err == nil {
		err = call.FieldErr(queue.CheckName("queue", in.GetQueue()))
	} else if planted.Reads(in) {
		return in.GetTenant(), nil
	}
	return tenant, err
}
