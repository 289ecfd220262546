package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Incoming receives one message within bounds. A server passes a pointer to it to gRPC instead of
// the message. The codec then checks the bounds before it allocates anything for the message. One
// Incoming may receive the messages of a stream successively. It is not safe for concurrent use.
type Incoming struct {
	Message any // to decode into
	// ItemsMax bounds the number of elements in each list of the message. The elements of a list in
	// a nested message are counted over all occurrences of that message.
	ItemsMax int
	// Reserve, if not nil, is called with the encoded size in bytes before the message is decoded.
	// If it returns an error, the message is rejected.
	Reserve func(bytes int) error
	// Err is the reason why the last message was rejected: a *TooManyError, a *MalformedError, or
	// the error that Reserve returned. It is nil if the message was decoded. The codec returns nil
	// when Err is set, because gRPC would answer the call with an internal error if the codec
	// failed.
	Err error
}

// TooManyError reports a list with too many elements.
type TooManyError struct {
	// Field is the path to the list in the schema, such as "open.queues".
	Field    string
	Items    int
	ItemsMax int
}

// Error returns the path and the problem.
func (e *TooManyError) Error() string { return e.Field + " " + e.Problem() }

// Problem describes what is wrong with the field.
func (e *TooManyError) Problem() string {
	return fmt.Sprintf("has %d items: send at most %d in one call", e.Items, e.ItemsMax)
}

func (c codec) receive(data mem.BufferSlice, in *Incoming) error {
	in.Err = nil
	if in.Reserve != nil {
		if in.Err = in.Reserve(data.Len()); in.Err != nil {
			return nil
		}
	}
	buffer := data.MaterializeToBuffer(pool)
	defer buffer.Free()
	if m, ok := in.Message.(proto.Message); ok {
		if over := checkItems(buffer.ReadOnlyData(), m, in.ItemsMax); over != nil {
			in.Err = over
			return nil
		}
	}
	if decodeHot(buffer.ReadOnlyData(), in.Message) {
		return nil
	}
	if err := c.CodecV2.Unmarshal(mem.BufferSlice{buffer}, in.Message); err != nil {
		in.Err = malformedError(buffer.ReadOnlyData(), in.Message, err)
	}
	return nil
}

// Outgoing is a message that a server sends as an answer. The codec calls Sent with the encoded
// size in bytes.
type Outgoing struct {
	Message any
	Sent    func(bytes int)
}

func (c codec) send(out *Outgoing) (mem.BufferSlice, error) {
	data, err := c.Marshal(out.Message)
	if err == nil {
		out.Sent(data.Len())
	}
	return data, err
}
