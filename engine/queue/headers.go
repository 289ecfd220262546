package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"
)

// The limits of the headers of one task.
const (
	HeadersMax      = 32
	headerKeyMax    = 64
	headerValueMax  = 1 << 10
	headersBytesMax = 4 << 10 // keys and values together
	// HeadersBytesStoredMax is the maximum number of bytes of Headers.
	HeadersBytesStoredMax = headersBytesMax + HeadersMax*headerHead
)

// KindHeader is the key of the header that names the kind of a task.
const KindHeader = "kind"

const headerKeyCharacters = `a-z, 0-9 and "-_."`

// Headers contains the headers of a task in the order of their keys, as they are stored:
//
//	(length of the key: 1 byte │ key │ length of the value: 2 │ value)…
//
// Integers are big-endian. A task with headers stores them before its payload, as part of it. They
// are therefore charged, cached and limited in memory with the payload:
//
//	length of the headers: 2 bytes │ headers │ payload
type Headers []byte

const (
	headersHead = 2
	headerHead  = 1 + 2
)

// CheckHeaders checks the headers of a new task.
func CheckHeaders(headers map[string]string) *FieldError {
	const field = "headers"
	if len(headers) > HeadersMax {
		return &FieldError{field, fmt.Sprintf("has %d entries: use at most %d", len(headers), HeadersMax)}
	}
	bytes := 0
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		value := headers[key]
		if err := checkHeaderKey(field, key); err != nil {
			return err
		}
		if err := CheckHeaderValue(field+"["+key+"]", value); err != nil {
			return err
		}
		bytes += len(key) + len(value)
	}
	if bytes > headersBytesMax {
		return &FieldError{field, fmt.Sprintf("has %d bytes of keys and values: use at most %d", bytes, headersBytesMax)}
	}
	return nil
}

// checkHeaderKey checks a key. Its errors have the field of the whole map, because an invalid key
// cannot be part of a path.
func checkHeaderKey(field, key string) *FieldError {
	if key == "" {
		return &FieldError{field, fmt.Sprintf("has an empty key: use 1 to %d characters of %s", headerKeyMax, headerKeyCharacters)}
	}
	if len(key) > headerKeyMax {
		return &FieldError{field, fmt.Sprintf("has a key of %d bytes: use at most %d", len(key), headerKeyMax)}
	}
	for i, r := range key {
		if r < utf8.RuneSelf && headerKeyByte[r] {
			continue
		}
		return &FieldError{field, fmt.Sprintf("has the key %q with the character %#U at offset %d: use %s", key, r, i, headerKeyCharacters)}
	}
	return nil
}

var headerKeyByte = func() (ok [utf8.RuneSelf]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789-_.") {
		ok[c] = true
	}
	return ok
}()

// CheckHeaderValue checks the value of a header.
func CheckHeaderValue(field, value string) *FieldError {
	if len(value) > headerValueMax {
		return &FieldError{field, fmt.Sprintf("has %d bytes: use at most %d", len(value), headerValueMax)}
	}
	return checkText(field, value)
}

// HeadersBytes returns the number of bytes that AddHeaders adds to the payload.
func HeadersBytes(headers map[string]string) int {
	if len(headers) == 0 {
		return 0
	}
	n := headersHead
	for key, value := range headers {
		n += headerHead + len(key) + len(value)
	}
	return n
}

// AddHeaders adds headers to a new task with a payload. CheckHeaders must have accepted them. It
// copies the payload.
func (t *NewTask) AddHeaders(headers map[string]string) {
	if len(headers) == 0 {
		return
	}
	n := HeadersBytes(headers)
	b := make([]byte, 0, n+len(t.Payload))
	b = binary.BigEndian.AppendUint16(b, uint16(n-headersHead))
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		value := headers[key]
		b = append(append(b, byte(len(key))), key...)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(value))), value...)
	}
	t.Payload, t.HasHeaders = append(b, t.Payload...), true
	t.Group = HashGroup(headers[GroupHeader])
}

// Split returns the task's headers and payload. Both are empty if the payload is not in memory.
func (t *Task) Split() (Headers, []byte) { return split(t.HasHeaders, t.Payload) }

// Split returns the headers and payload of the delivered task.
func (d *Delivery) Split() (Headers, []byte) { return split(d.HasHeaders, d.Payload) }

func split(hasHeaders bool, stored []byte) (h Headers, payload []byte) {
	if !hasHeaders || len(stored) == 0 {
		return nil, stored
	}
	end := headersHead + int(binary.BigEndian.Uint16(stored))
	return stored[headersHead:end], stored[end:]
}

var errHeaders = errors.New("the headers are damaged")

// CheckStored checks the form of a stored payload that begins with headers.
func CheckStored(payload []byte) error {
	if len(payload) < headersHead {
		return errHeaders
	}
	n := int(binary.BigEndian.Uint16(payload))
	if n == 0 || n > len(payload)-headersHead {
		return errHeaders
	}
	for left := Headers(payload[headersHead : headersHead+n]); len(left) > 0; {
		_, _, rest, ok := left.next()
		if !ok {
			return errHeaders
		}
		left = rest
	}
	return nil
}

// next returns the first header and the headers after it.
func (h Headers) next() (key, value []byte, rest Headers, ok bool) {
	at := 1 + int(h[0])
	if at+2 > len(h) {
		return nil, nil, nil, false
	}
	end := at + 2 + int(binary.BigEndian.Uint16(h[at:]))
	if end > len(h) {
		return nil, nil, nil, false
	}
	return h[1:at], h[at+2 : end], h[end:], true
}

// All returns the keys and values, in the order of the keys, as subslices of h.
func (h Headers) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for left := h; len(left) > 0; {
			key, value, rest, ok := left.next()
			if !ok || !yield(key, value) {
				return
			}
			left = rest
		}
	}
}

// Map returns the headers as a map, or nil if there are none.
func (h Headers) Map() map[string]string {
	if len(h) == 0 {
		return nil
	}
	out := map[string]string{}
	for key, value := range h.All() {
		out[string(key)] = string(value)
	}
	return out
}

// Has reports whether there is a header with this key and value.
func (h Headers) Has(key, value string) bool {
	for k, v := range h.All() {
		if string(k) == key {
			return string(v) == value
		}
	}
	return false
}

// Get returns the value of a key, or "" if there is no header with this key.
func (h Headers) Get(key string) string {
	for k, value := range h.All() {
		if string(k) == key {
			return string(value)
		}
	}
	return ""
}
