// Package wire is how the queue service's messages cross a connection: a gRPC codec that encodes and decodes the
// messages of the hot path without reflection and with few allocations. What is on the wire is protobuf, and any
// gRPC client or server is understood; only what it costs differs.
package wire
