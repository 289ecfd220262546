// Package rpc implements the service prony.queue.v1.QueueService. It validates and converts the
// requests of clients, passes them to the shards, and answers them. The shards make all decisions
// about tasks.
//
// NewService returns a Service for the shards of this node. NewServer returns a gRPC server with
// that service, health and reflection:
//
//	s := rpc.NewService(shards, limits, registry)
//	g := rpc.NewServer(s, health.NewServer(), call.NewAuth(registry))
//	go g.Serve(listener)
//	…
//	s.Stop()         // ends streams, after their due answers, and waiting claims
//	g.GracefulStop()
//
// A stream has two goroutines. One receives frames and passes them to the shards; the handler's
// goroutine sends answers from an outbox. The shards add answers to the outbox and never wait for a
// client. The in-flight limit bounds the number of frames that were read but not answered. At the
// limit the server stops reading, and HTTP/2's flow control then stops the client. When this node
// can no longer serve a stream, because other nodes lead, the stream ends after the answers to all
// frames that were read.
//
// In a cluster (see Service.InCluster), unary calls go to the nodes that lead the shards, as
// described in package route. Methods whose names end in Here execute a call on the shards that
// this node leads. Streams are not forwarded: their refusal names the leader.
//
// A Service is safe for concurrent use. It returns errors with a gRPC status, converted by
// call.Status. If an item of a batch fails, the answer contains the item's error, and the other
// items are not affected.
package rpc
