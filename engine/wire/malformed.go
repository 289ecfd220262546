package wire

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MalformedError is the reason why a message could not be decoded.
type MalformedError struct {
	// Field is the path of the invalid field, such as "tasks[1].queue". It is "" if the error is
	// not in a field of the schema.
	Field   string
	Problem string
}

// Error returns the path and the problem.
func (e *MalformedError) Error() string {
	if e.Field == "" {
		return "the message " + e.Problem
	}
	return e.Field + ": " + e.Problem
}

// malformedError returns the reason why a message could not be decoded. err is the error of gRPC's
// codec.
func malformedError(b []byte, v any, err error) error {
	if m, ok := v.(proto.Message); ok {
		if found := malformedField(b, 0, m.ProtoReflect().Descriptor(), ""); found != nil {
			return found
		}
	}
	return &MalformedError{Problem: fmt.Sprintf("can't be decoded: %v", err)}
}

// malformedField returns the first field of an encoded message that cannot be decoded, or nil.
// offset is the position of b in the whole message. path is the path of the message d, followed by
// a dot, or "". The schema limits the depth of the recursion.
func malformedField(b []byte, offset int, d protoreflect.MessageDescriptor, path string) *MalformedError {
	elements := map[protowire.Number]int{}
	for i := 0; i < len(b); {
		number, kind, n := protowire.ConsumeTag(b[i:])
		if n < 0 {
			return &MalformedError{trimDot(path), fmt.Sprintf("is malformed: no field begins at byte %d of the message", offset+i)}
		}
		i += n
		field := d.Fields().ByNumber(number)
		name := path
		if field != nil {
			name += string(field.Name())
			if field.IsList() {
				name += fmt.Sprintf("[%d]", elements[number])
				elements[number]++
			}
		}
		if n = protowire.ConsumeFieldValue(number, kind, b[i:]); n < 0 {
			return &MalformedError{trimDot(name), fmt.Sprintf("is malformed: the value at byte %d of the message was cut off, or has no end", offset+i)}
		}
		if field != nil && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[i:])
			if at := notUTF8(value); at >= 0 && field.Kind() == protoreflect.StringKind {
				return &MalformedError{name, fmt.Sprintf("%q is not valid UTF-8: it has the byte 0x%02x at offset %d", clip(value), value[at], at)}
			}
			if field.Kind() == protoreflect.MessageKind {
				if found := malformedField(value, offset+i+n-len(value), field.Message(), name+"."); found != nil {
					return found
				}
			}
		}
		i += n
	}
	return nil
}

func trimDot(path string) string {
	if n := len(path); n > 0 && path[n-1] == '.' {
		return path[:n-1]
	}
	return path
}

func notUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

func clip(text []byte) []byte { return text[:min(len(text), 64)] }
