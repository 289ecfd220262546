package rpc

import (
	"context"
	"sync"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

var _ queuepb.QueueServiceServer = (*Service)(nil)

// Service implements prony.queue.v1.QueueService. It is safe for concurrent use.
type Service struct {
	queuepb.UnimplementedQueueServiceServer

	shards *shard.Group
	limits queue.Limits
	quotas *access.Registry
	router *route.Router // nil without a cluster
	bounds *call.Bounds

	stopping chan struct{}
	stopOnce sync.Once
}

// NewService serves the shards of a group. The quotas of calls are the registry's; who may call, NewServer's Auth says.
func NewService(g *shard.Group, limits queue.Limits, quotas *access.Registry) *Service {
	return &Service{shards: g, limits: limits, quotas: quotas, bounds: call.Unbounded(), stopping: make(chan struct{})}
}

// InCluster has the service be one node's of a cluster: unary calls go where their shards are led, and refusals say
// who leads. It is called before the service is served.
func (s *Service) InCluster(r *route.Router) {
	r.Stopping = s.stopping
	s.router = r
}

// Within sets the bounds of the service and its servers. The caller calls it before it makes the servers.
func (s *Service) Within(b *call.Bounds) { s.bounds = b }

// refuse returns the status for an error, with the leader if another node leads.
func (s *Service) refuse(err error) error {
	return call.Status(route.Explain(s.router.Cluster(), err))
}

// refuseItem returns the item error for an error, with the leader if another node leads.
func (s *Service) refuseItem(index int, err error) *queuepb.ItemError {
	return call.ItemError(index, route.Explain(s.router.Cluster(), err))
}

// Stop ends all streams, after the answers they owe, and all waiting claims.
func (s *Service) Stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// holdWhenStopping keeps a stream from reading further frames once the server stops: what was read is
// answered, and then the stream ends. A busy client would keep it open otherwise.
func (s *Service) holdWhenStopping(stream context.Context) error {
	select {
	case <-s.stopping:
		<-stream.Done()
		return stream.Err()
	default:
		return nil
	}
}

// enter checks who calls, the tenant and the number of items of a call. It returns the tenant.
func (s *Service) enter(ctx context.Context, scopes access.Scopes, name, field string, items int) (tenant string, err error) {
	tenant, err = call.Tenant(ctx, scopes, name)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, items))
	}
	return tenant, call.Status(err)
}

// enterTask checks who calls, the tenant and the id of a call on one task.
func enterTask(ctx context.Context, scopes access.Scopes, in interface {
	GetTenant() string
	GetId() string
}) (tenant string, id queue.ID, err error) {
	if tenant, err = call.Tenant(ctx, scopes, in.GetTenant()); err != nil {
		return "", id, call.Status(err)
	}
	if id, err = queue.ParseID(in.GetId()); err != nil {
		err = call.Status(call.IDError(err))
	}
	return tenant, id, err
}

// claimBytes is the approximate limit of the answer to a claim. One task always fits.
func (s *Service) claimBytes() int64 { return s.bounds.Shares().ClaimBytes }
