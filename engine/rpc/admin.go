package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// Admin implements prony.admin.v1.AdminService. It is safe for concurrent use.
type Admin struct {
	laterCalls
	*accessAdmin
	*clusterAdmin

	shards *shard.Group
	limits queue.Limits
	host   Host
	router *router // nil without a cluster
}

// laterCalls answers calls that a later schema may have. It is a type of its own so that clusterAdmin goes before it.
type laterCalls struct {
	adminpb.UnimplementedAdminServiceServer
}

// Host is the server that the admin service is part of.
type Host interface {
	// Status says how the server is.
	Status() Status
	// Backup makes a backup as storage.Backup does, one at a time, and returns its path and size.
	Backup(ctx context.Context, name string) (path string, bytes int64, err error)
}

// Status is how a server is.
type Status struct {
	Version     string
	StartedAtMs int64
	Durability  string
	NotReady    string // why it is not ready; "" if it is
	Clock       time.Time
	// WallClockAhead is how far the host's wall clock is ahead of Clock.
	WallClockAhead time.Duration
	// Disk is the state of the data folder's file system; nil if it is unknown.
	Disk *adminpb.DiskStatus
}

// NewAdmin administers the shards of a group, and who may use them.
func NewAdmin(g *shard.Group, limits queue.Limits, registry *access.Registry, host Host) *Admin {
	a := &Admin{shards: g, limits: limits, host: host}
	a.accessAdmin = &accessAdmin{registry: registry, queues: a.queuesOfTenants, refuse: a.refuse}
	a.clusterAdmin = &clusterAdmin{shards: g.Len}
	return a
}

// InCluster makes the server one of a cluster: calls go where their shards are led. It is to be called before calls are
// served.
func (a *Admin) InCluster(c Cluster) {
	a.cluster, a.router = c, newRouter(c, a.shards.Len(), nil)
	a.router.group = a.shards
}

// refuse is statusOf, and says who leads where that is the matter.
func (a *Admin) refuse(err error) error { return statusOf(explain(a.cluster, err)) }

// queuesOfTenants counts each tenant's queues.
func (a *Admin) queuesOfTenants(ctx context.Context) (map[string]uint64, error) {
	stats, err := await(ctx, a.shards.Stats)
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

// pageSize checks the size of a page; 0 means the default.
func pageSize(n uint32) (int, error) {
	if n > pageMax {
		return 0, &queue.FieldError{Field: "page_size", Problem: fmt.Sprintf("%d is above %d", n, pageMax)}
	}
	if n == 0 {
		return pageDefault, nil
	}
	return int(n), nil
}

// target checks which queue a call is for.
func target(ctx context.Context, tenant, name string) (string, error) {
	tenant, err := adminTenant(ctx, tenant)
	if err == nil {
		err = fieldErr(queue.CheckName("queue", name))
	}
	return tenant, err
}

// ids checks the ids of a call. Those at fault are left out, with an error each, as newTasks does.
func (a *Admin) ids(in []string) (ids []queue.ID, places []int, errs []*queuepb.ItemError, err error) {
	if err := a.limits.CheckBatch("ids", len(in)); err != nil {
		return nil, nil, nil, err
	}
	for i, text := range in {
		id, err := queue.ParseID(text)
		if err != nil {
			if errs == nil {
				places = firstPlaces(i)
			}
			errs = append(errs, itemError(i, &queue.FieldError{Field: "ids", Problem: err.Error()}))
			continue
		}
		ids = append(ids, id)
		if errs != nil {
			places = append(places, i)
		}
	}
	return ids, places, errs, nil
}

// change carries a change out on single tasks. It returns a result for each, and how many were changed.
func (a *Admin) change(ctx context.Context, what shard.Change, tenant string, in []string) (results []*queuepb.SettleResult, changed uint64, err error) {
	ids, places, errs, err := a.ids(in)
	if err != nil {
		return nil, 0, err
	}
	outcomes, err := a.shards.Change(ctx, what, tenant, ids)
	if err != nil {
		return nil, 0, err
	}
	errs = appendSettleErrors(a.cluster, errs, outcomes, places)
	return settleResults(len(in), errs), uint64(len(in) - len(errs)), nil
}
