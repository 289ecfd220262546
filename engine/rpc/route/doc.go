// Package route brings calls to the nodes of a cluster that lead the shards they are for.
//
// A Router belongs to one service of one node. Its service asks Router.Routes first: without a cluster, and for calls that another
// node forwarded, the answer is no, and the node executes the call itself or refuses it. A call is therefore forwarded once at most.
// Otherwise the service passes a function that executes the call at a Target, this node or another, to
//
//   - Follow: at the leader of one shard,
//   - Gather: at all nodes that lead a shard, for reads,
//   - Router.Cover: at the leader of each shard in turn, for changes,
//   - Spread: a batch, each item at the leader of its shard.
//
// Each forwards a call once, to the node that leads as far as this node knows. If nothing was done there, after a NOT_LEADER or
// without a connection, Router.Retry repeats the call for a bounded time. Retry is the only such loop in the server: callers that
// reach a single node, such as REST clients and the commands of queued, see a failover as a delay. Package client follows the
// leader itself, with the address that a refusal names. If a change may or may not have taken effect, the call is refused with
// shard.ErrUnknownOutcome and not repeated. The errors have a gRPC status. A forwarded call carries the caller's own token; the
// number of calls under way at other nodes is bounded.
//
// Cluster is what the services need to know about the cluster. Explain adds the leader to an error of leadership.
//
// A Router and the functions are safe for concurrent use.
package route
