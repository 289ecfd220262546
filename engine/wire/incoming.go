package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Incoming limits a message that a server receives. The server passes a pointer to an Incoming to
// gRPC, instead of the message. The codec then checks the limits before it allocates memory for the
// message. The same Incoming can be used for all messages of a stream, one after the other. It is
// not safe for concurrent use.
type Incoming struct {
	Message any // the message to decode into
	// ItemsMax is the maximum number of elements in each list of the message. If a message with a
	// list is nested in several places of the same field, the elements of all these lists are
	// counted together. A map may have entriesMax times as many entries, and NewTask.after afterMax
	// times as many elements.
	ItemsMax int
	// Reserve, if not nil, is called with the encoded size in bytes before the message is decoded.
	// If it returns an error, the message is rejected.
	Reserve func(bytes int) error
	// Err is the reason why the last message was rejected: a *TooManyError, a *MalformedError, or
	// the error that Reserve returned. It is nil if the message was decoded. When the codec sets
	// Err, it returns no error itself, because gRPC would then answer the call with an internal
	// error.
	Err error
}

// TooManyError means that a list has too many elements.
type TooManyError struct {
	// Field is the path of the list in the schema, such as "open.queues".
	Field    string
	Items    int
	ItemsMax int
}

// Error returns the path and the problem.
func (e *TooManyError) Error() string { return e.Field + " " + e.Problem() }

// Problem returns the error without the path of the field.
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

// Outgoing is a message that a server sends. When the codec has encoded Message, it calls Sent with
// the encoded size in bytes.
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
