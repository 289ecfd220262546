package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Incoming receives one message within bounds. A server passes a pointer to it where gRPC takes the message to decode
// into: the codec then checks the bounds before it allocates anything for the message. One Incoming may be used for
// the messages of a stream, one after the other. It is not safe for concurrent use.
type Incoming struct {
	Message any // to decode into
	// ItemsMax is how many elements each list of the message may have. The elements of a list in a nested message are
	// counted over all occurrences of that message.
	ItemsMax int
	// Reserve, if not nil, is called with the encoded size in bytes before the message is decoded. An error refuses the message.
	Reserve func(bytes int) error
	// Err is why the last message was refused: a *TooManyError, a *MalformedError, or the error that Reserve returned. It is nil if the
	// message was decoded. The codec's own error is nil when Err is not: gRPC answers a call by itself, as an internal error, when the codec
	// fails.
	Err error
}

// TooManyError says that a list of a message has more elements than it may have.
type TooManyError struct {
	Field    string // as the schema names it, with the fields that lead to it: "open.queues"
	Items    int
	ItemsMax int
}

// Error implements the interface.
func (e *TooManyError) Error() string { return e.Field + " " + e.Problem() }

// Problem is what is wrong with the field.
func (e *TooManyError) Problem() string {
	return fmt.Sprintf("has %d items: send at most %d in one call", e.Items, e.ItemsMax)
}

// receive decodes a message within the bounds of in.
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

// Outgoing is a message that a server answers with. Sent is called with its encoded size once it is encoded.
type Outgoing struct {
	Message any
	Sent    func(bytes int)
}

// send encodes a message, and says how large it is.
func (c codec) send(out *Outgoing) (mem.BufferSlice, error) {
	data, err := c.Marshal(out.Message)
	if err == nil {
		out.Sent(data.Len())
	}
	return data, err
}
