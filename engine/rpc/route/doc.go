// Package route forwards a call to the nodes of a cluster that lead the call's shards.
//
// A Router belongs to one service of one node. The service first calls Router.Routes, which returns
// false without a cluster and for calls that another node has forwarded. In these cases the node
// executes the call or refuses it, so a call is forwarded at most once. If Router.Routes returns
// true, the service passes a function that executes the call at a Target, which is this node or
// another node, to one of these functions:
//
//   - Follow executes the call at the leader of one shard.
//   - Gather executes a read at all nodes that lead a shard.
//   - Router.Cover executes a change at the leader of each shard in turn.
//   - Spread executes a batch, each item at the leader of its shard.
//
// Each of these functions sends a call once to the node that leads as far as this node knows. If
// the call had no effect there, because of a NOT_LEADER or a missing connection, Router.Retry
// repeats it for a bounded time. Retry is the only such loop in the server. Callers that use a
// single node, such as REST clients and the commands of queued, therefore see a failover as a
// delay. In contrast, package client follows the leader itself: it uses the address in the refusal.
// If a change may or may not have taken effect, the call is refused with shard.ErrUnknownOutcome
// and not repeated. All errors have a gRPC status. A forwarded call has its caller's token. The
// number of calls active at other nodes is limited.
//
// Cluster is the interface through which the services use the cluster. Explain adds the known
// leader to an error about leadership.
//
// A Router and the functions of this package are safe for concurrent use.
package route
