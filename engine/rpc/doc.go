// Package rpc is the service prony.queue.v1.QueueService: it checks and converts the requests of
// clients, passes them to the shards, and answers. All decisions about tasks are made by the
// shards.
//
// NewService returns a Service for the shards of this node, and NewServer a gRPC server with that
// service, health and reflection:
//
//	s := rpc.NewService(shards, limits, registry)
//	g := rpc.NewServer(s, health.NewServer(), call.NewAuth(registry))
//	go g.Serve(listener)
//	…
//	s.Stop()         // ends streams, after their due answers, and waiting claims
//	g.GracefulStop()
//
// A stream has two goroutines: one receives frames and passes them to the shards, and the handler's
// goroutine sends answers from an outbox. The shards call back into the outbox and never wait for a
// client. The in-flight limit bounds the frames that were read but not answered; at the limit the
// server stops reading, and HTTP/2's flow control stops the client. A stream that this node can no
// longer serve, because other nodes lead, ends after the answers to all frames that were read.
//
// With Service.InCluster, unary calls go to the nodes that lead the shards, as described in package
// route; methods whose names end in Here execute a call on the shards that this node leads. Streams
// are not forwarded: their refusal names the leader.
//
// A Service is safe for concurrent use. Its errors have a gRPC status, from call.Status. The error
// of a failed item of a batch is in the answer, and the other items are not affected.
package rpc
