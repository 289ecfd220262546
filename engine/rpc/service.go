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

// NewService returns a service for the shards of a group. quotas is the registry with the quotas of
// the tenants. The service does not authenticate callers: NewServer's Auth does.
func NewService(g *shard.Group, limits queue.Limits, quotas *access.Registry) *Service {
	return &Service{shards: g, limits: limits, quotas: quotas, bounds: call.Unbounded(), stopping: make(chan struct{})}
}

// InCluster makes the service forward unary calls to the leaders of their shards, and name the
// leader in refusals. It must be called before the service receives calls.
func (s *Service) InCluster(r *route.Router) {
	r.Stopping = s.stopping
	s.router = r
}

// Within sets the bounds of the service and its servers. It must be called before the servers are
// created.
func (s *Service) Within(b *call.Bounds) { s.bounds = b }

// refuse converts an error to a gRPC status. If another node leads, the status names that node.
func (s *Service) refuse(err error) error {
	return call.Status(route.Explain(s.router.Cluster(), err))
}

// refuseItem converts an error to an item error. If another node leads, the item error names that
// node.
func (s *Service) refuseItem(index int, err error) *queuepb.ItemError {
	return call.ItemError(index, route.Explain(s.router.Cluster(), err))
}

// Stop ends all waiting claims. It also ends all streams, each after the answers to the frames that
// were read.
func (s *Service) Stop() { s.stopOnce.Do(func() { close(s.stopping) }) }

// stopped returns the status that ends a stream because the server is stopping. At that point the
// stream has answered every frame that it executed.
func (s *Service) stopped() error {
	if s.router.Cluster() != nil {
		return s.refuse(shard.ErrClosed)
	}
	return call.Stopped()
}

// holdWhenStopping prevents a stream from reading further frames once the server is stopping. The
// stream can then end after answering the frames that were read. Otherwise a busy client could keep
// the stream open.
func (s *Service) holdWhenStopping(stream context.Context) error {
	select {
	case <-s.stopping:
		<-stream.Done()
		return stream.Err()
	default:
		return nil
	}
}

// enter validates the caller, the tenant and the number of items of a call, and returns the tenant.
func (s *Service) enter(ctx context.Context, scopes access.Scopes, name, field string, items int) (tenant string, err error) {
	tenant, err = call.Tenant(ctx, scopes, name)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, items))
	}
	return tenant, call.Status(err)
}

type taskRequest interface {
	GetTenant() string
	GetId() string
}

func enterTask(ctx context.Context, scopes access.Scopes, in taskRequest) (tenant string, id queue.ID, err error) {
	if tenant, err = call.Tenant(ctx, scopes, in.GetTenant()); err != nil {
		return "", id, call.Status(err)
	}
	if id, err = queue.ParseID(in.GetId()); err != nil {
		err = call.Status(call.IDError(err))
	}
	return tenant, id, err
}

// claimBytes returns the approximate maximum size of an answer to a claim in bytes. One task always
// fits.
func (s *Service) claimBytes() int64 { return s.bounds.Shares().ClaimBytes }
