// Package wire is the gRPC codec of the queue service. It encodes and decodes the messages of the
// hot path without reflection and with few allocations. The bytes are ordinary protobuf, so any
// gRPC client or server can encode and decode them too, but with more CPU time.
//
// # Usage
//
// Pass Codec to grpc.ForceServerCodecV2 or grpc.ForceCodecV2, and pass Buffers to gRPC as its
// buffer pool. A server receives into an Incoming. The codec checks the limits of the Incoming
// before it allocates memory for the message. A stream can encode a message field by field into a
// Frame, without first building the message in memory.
//
// The codec itself decodes ProduceRequest, ProduceResponse, WorkRequest and WorkResponse. It reads
// the fields of the current schema:
//
//	│ tag 1: number << 3 | type │ uvarint                   │   an integer
//	│ tag 1: number << 3 | type │ length: uvarint │ bytes   │   a text, bytes or a message
//
// If a message contains anything else, such as an unknown field or another type, gRPC's codec
// decodes the whole message.
//
// # Memory
//
// Decoded tasks share memory in small groups, so that one allocation contains several tasks.
// Whoever retains one task therefore also retains some bytes of its neighbours; see Codec.
// RecycleProduceRequest and RecycleWorkRequest return the messages of a request for reuse by later
// requests.
//
// # Concurrency and errors
//
// Codec and Buffers are safe for concurrent use; a Frame or an Incoming is not. Incoming.Err is the
// reason why a message was rejected: a *TooManyError, a *MalformedError, or the error of
// Incoming.Reserve. If a malformed message is not received into an Incoming, gRPC's codec returns
// an error.
package wire
