// Package admin is the service prony.admin.v1.AdminService: queues, tasks, dead letters, tenants,
// tokens, and the cluster.
//
// New returns a Service for the shards of this node. Without a cluster, each call applies to all
// shards. With Service.InCluster, the node that receives a call forwards its parts to the leaders
// of the shards, as described in package route, and combines their answers; methods whose names end
// in Here execute a call on the shards that this node leads. Tenants and tokens belong to the
// leader of shard 0. NewServer puts the service on a gRPC server that is an HTTP handler.
//
// Lists are paged. A page token identifies its list and the position after the page, so that a
// token of another list is refused.
//
// A Service is safe for concurrent use. Its errors have a gRPC status, from call.Status.
package admin
