// Package route forwards calls to the nodes of a cluster that lead their shards.
//
// A Router belongs to one service of one node. The service first asks Router.Routes. It returns
// false without a cluster, and for calls that another node forwarded; the node then executes the
// call itself or refuses it. A call is therefore forwarded at most once. Otherwise the service
// passes a function that executes the call at a Target, this node or another, to
//
//   - Follow: at the leader of one shard,
//   - Gather: at all nodes that lead a shard, for reads,
//   - Router.Cover: at the leader of each shard in turn, for changes,
//   - Spread: a batch, each item at the leader of its shard.
//
// Each sends a call once to the node that leads as far as this node knows. If the call had no
// effect there, because of a NOT_LEADER or a missing connection, Router.Retry repeats it for a
// bounded time. Retry is the only such loop in the server: callers of a single node, such as REST
// clients and the commands of queued, see a failover as a delay. Package client follows the leader
// itself, with the address in the refusal. If a change may or may not have taken effect, the call
// is refused with shard.ErrUnknownOutcome and not repeated. The errors have a gRPC status. A
// forwarded call has its caller's token. The number of calls active at other nodes is bounded.
//
// Cluster is the interface of the services to the cluster. Explain adds the leader to an error of
// leadership.
//
// A Router and the functions are safe for concurrent use.
package route
