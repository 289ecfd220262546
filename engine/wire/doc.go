// Package wire is the gRPC codec of the queue service. It encodes and decodes the messages of the hot path without reflection and with
// few allocations. The bytes are ordinary protobuf: any gRPC client or server understands them, and only the CPU time differs.
//
// # Usage
//
// Give Codec to grpc.ForceServerCodecV2 or grpc.ForceCodecV2, and Buffers to gRPC as its buffer pool. A server receives into an Incoming,
// whose bounds the codec checks before it allocates memory for the message. A stream that has its answer in another form than a message
// encodes it field by field into a Frame.
//
// The codec decodes a ProduceRequest, ProduceResponse, WorkRequest and WorkResponse itself. It reads the fields of the current schema:
//
//	│ tag 1: number << 3 | type │ uvarint                   │   an integer
//	│ tag 1: number << 3 | type │ length: uvarint │ bytes   │   a text, bytes or a message
//
// If a message has anything else (an unknown field, another type), gRPC's own codec decodes the whole message.
//
// # Memory
//
// Decoded tasks share memory in small groups, so that one allocation serves several. A task that is kept therefore keeps some bytes of
// its neighbours: see Codec. RecycleProduceRequest and RecycleWorkRequest give the messages of a request back for later requests.
//
// # Concurrency and errors
//
// Codec and Buffers are safe for concurrent use; a Frame or an Incoming is not. Incoming.Err says why a message was refused: a
// *TooManyError, or the error of Incoming.Reserve. A malformed message is an error of gRPC's codec.
package wire
