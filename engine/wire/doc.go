// Package wire is the gRPC codec of the queue service. It encodes and decodes the messages of the
// hot path without reflection and with few allocations. The bytes are ordinary protobuf: any gRPC
// client or server understands them, and only the CPU time differs.
//
// # Usage
//
// Pass Codec to grpc.ForceServerCodecV2 or grpc.ForceCodecV2, and pass Buffers to gRPC as its
// buffer pool. A server receives into an Incoming, whose bounds the codec checks before it
// allocates memory for the message. A stream whose answers are not messages in memory encodes them
// field by field into a Frame.
//
// The codec decodes ProduceRequest, ProduceResponse, WorkRequest and WorkResponse. It reads the
// fields of the current schema:
//
//	│ tag 1: number << 3 | type │ uvarint                   │   an integer
//	│ tag 1: number << 3 | type │ length: uvarint │ bytes   │   a text, bytes or a message
//
// If a message has anything else, such as an unknown field or another type, gRPC's codec decodes
// the whole message.
//
// # Memory
//
// Decoded tasks share memory in small groups, so that one allocation serves several. A retained
// task therefore retains some bytes of its neighbours; see Codec. RecycleProduceRequest and
// RecycleWorkRequest return the messages of a request for reuse by later requests.
//
// # Concurrency and errors
//
// Codec and Buffers are safe for concurrent use; a Frame or an Incoming is not. Incoming.Err is the
// reason why a message was rejected: a *TooManyError, a *MalformedError, or the error of
// Incoming.Reserve. Without an Incoming, a malformed message is an error of gRPC's codec.
package wire
