// Package admin implements the service prony.admin.v1.AdminService. Its calls manage queues, tasks,
// dead letters, tenants, tokens, and the cluster.
//
// New returns a Service for the shards of this node. Without a cluster, each call applies to all
// shards. In a cluster (see Service.InCluster), the node that receives a call forwards it to the
// leaders of the shards, as described in package route, and combines their answers. Methods whose
// names end in Here execute a call on the shards that this node leads. The leader of shard 0
// manages tenants and tokens. NewServer returns a gRPC server with the service, as an HTTP handler.
//
// Lists are divided into pages. A page token identifies its list and the position of the next page.
// The service refuses a token of another list.
//
// A Service is safe for concurrent use. It returns errors with a gRPC status, converted by
// call.Status.
package admin
