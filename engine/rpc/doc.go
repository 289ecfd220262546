// Package rpc is the service prony.queue.v1.QueueService: it checks and converts what clients send, passes it to the shards, and
// answers. It decides nothing about tasks; the shards do.
//
// NewService returns a Service for the shards of this node, and NewServer a gRPC server with that service, health and reflection
// on it:
//
//	s := rpc.NewService(shards, limits, registry)
//	g := rpc.NewServer(s, health.NewServer(), call.NewAuth(registry))
//	go g.Serve(listener)
//	…
//	s.Stop()         // ends streams and waiting claims, after the answers they are owed
//	g.GracefulStop()
//
// A stream has two goroutines: one receives frames and passes them to the shards, the handler's own sends answers from an outbox.
// The shards call back into the outbox and never wait for a client. The in-flight limit bounds the frames that were read and not
// answered; at the limit the server stops reading, and HTTP/2's flow control stops the client. A stream that this node can't serve
// any more, because other nodes lead, ends after the answers to all frames that were read.
//
// With Service.InCluster the unary calls go to the nodes that lead the shards, as package route says; the methods whose names end
// in Here execute a call on the shards that this node leads. Streams are not forwarded: their refusal names the leader.
//
// A Service is safe for concurrent use. Its errors have a gRPC status, from call.Status; an item of a batch that fails has its own
// error in the answer, and the other items are not affected.
package rpc
