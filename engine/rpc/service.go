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

// NewService returns a service of the shards of a group. The registry has the quotas of calls; NewServer's Auth authenticates callers.
func NewService(g *shard.Group, limits queue.Limits, quotas *access.Registry) *Service {
	return &Service{shards: g, limits: limits, quotas: quotas, bounds: call.Unbounded(), stopping: make(chan struct{})}
}

// InCluster makes the service that of a node of a cluster: unary calls go to the leaders of their shards, and refusals name the leader.
// Call InCluster before the service is served.
func (s *Service) InCluster(r *route.Router) {
	r.Stopping = s.stopping
	s.router = r
}

// Within sets the bounds of the service and its servers. Call Within before the servers are made.
func (s *Service) Within(b *call.Bounds) { s.bounds = b }

// refuse returns the status for an error, with the leader if another node leads.
func (s *Service) refuse(err error) error {
	return call.Status(route.Explain(s.router.Cluster(), err))
}

// refuseItem returns the item error for an error, with the leader if another node leads.
func (s *Service) refuseItem(index int, err error) *queuepb.ItemError {
	return call.ItemError(index, route.Explain(s.router.Cluster(), err))
}

// Stop ends all waiting claims, and all streams after the answers to the frames that were read.
func (s *Service) Stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// stopped returns the status that ends a stream because the server stops. The stream has answered each frame that it executed.
func (s *Service) stopped() error {
	if s.router.Cluster() != nil {
		return s.refuse(shard.ErrClosed)
	}
	return call.Stopped()
}

// holdWhenStopping stops a stream from reading further frames once the server stops: the frames that were read are answered, and then
// the stream ends. Otherwise a busy client would keep the stream open.
func (s *Service) holdWhenStopping(stream context.Context) error {
	select {
	case <-s.stopping:
		<-stream.Done()
		return stream.Err()
	default:
		return nil
	}
}

// enter checks the caller, the tenant and the number of items of a call. It returns the tenant.
func (s *Service) enter(ctx context.Context, scopes access.Scopes, name, field string, items int) (tenant string, err error) {
	tenant, err = call.Tenant(ctx, scopes, name)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, items))
	}
	return tenant, call.Status(err)
}

// taskRequest is a request for one task.
type taskRequest interface {
	GetTenant() string
	GetId() string
}

// enterTask checks the caller, the tenant and the id of a request for one task.
func enterTask(ctx context.Context, scopes access.Scopes, in taskRequest) (tenant string, id queue.ID, err error) {
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
