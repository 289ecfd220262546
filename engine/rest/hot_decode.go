package rest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/queuepb"
)

// decodeHot decodes the request of an enqueue, a claim or a completion without reflection. It
// accepts only a part of the texts that protojson accepts, and decodes them to the same message.
// For all other texts and messages it returns false: those with null values, rare fields, numbers
// with an exponent, or mistakes. The message may then be partly filled. The caller must decode the
// text again with protojson, which also reports the mistakes.
func decodeHot(text []byte, m proto.Message) bool {
	var fields func(*hotDecoder, []byte) (int, bool)
	switch m := m.(type) {
	case *queuepb.EnqueueRequest:
		fields = func(d *hotDecoder, name []byte) (int, bool) { return d.enqueue(name, m) }
	case *queuepb.ClaimRequest:
		fields = func(d *hotDecoder, name []byte) (int, bool) { return d.claim(name, m) }
	case *queuepb.CompleteRequest:
		fields = func(d *hotDecoder, name []byte) (int, bool) { return d.complete(name, m) }
	default:
		return false
	}
	d := hotDecoders.Get().(*hotDecoder) // the pool contains only values of this type
	defer d.giveBack()
	d.text = *bytes.NewBuffer(text)
	d.json.Reset(&d.text, jsontext.AllowDuplicateNames(true)) // method object refuses duplicates
	if !d.object(fields) {
		return false
	}
	_, err := d.json.ReadToken()
	return errors.Is(err, io.EOF)
}

// hotDecoder reads one JSON text. Its methods return false if decodeHot does not accept the text.
type hotDecoder struct {
	json    jsontext.Decoder
	text    bytes.Buffer
	scratch []byte
}

var hotDecoders = sync.Pool{New: func() any { return new(hotDecoder) }}

// scratchKeptMax is the maximum capacity in bytes of the buffer for escaped strings that a pooled
// decoder keeps.
const scratchKeptMax = 4 << 10

func (d *hotDecoder) giveBack() {
	d.text = bytes.Buffer{}
	d.json.Reset(&d.text)
	if cap(d.scratch) > scratchKeptMax {
		d.scratch = nil
	}
	hotDecoders.Put(d)
}

func (d *hotDecoder) enqueue(name []byte, m *queuepb.EnqueueRequest) (field int, ok bool) {
	switch string(name) {
	case "tenant":
		return 1, d.string(&m.Tenant)
	case "tasks":
		return 2, d.array(func() bool {
			t := &queuepb.NewTask{}
			last := len(m.Tasks) - 1
			m.Tasks = append(m.Tasks, t)
			if last >= 0 {
				// The queue is likely the same as that of the previous task. Method string can then
				// reuse its memory.
				t.Queue = m.Tasks[last].Queue
			}
			named := false
			ok := d.object(func(d *hotDecoder, name []byte) (int, bool) {
				field, ok := d.task(name, t)
				named = named || field == 1
				return field, ok
			})
			if !named {
				t.Queue = ""
			}
			return ok
		})
	}
	return 0, false
}

func (d *hotDecoder) task(name []byte, m *queuepb.NewTask) (field int, ok bool) {
	switch string(name) {
	case "queue":
		return 1, d.string(&m.Queue)
	case "priority":
		return 2, d.uint32(&m.Priority)
	case "payload":
		return 3, d.bytes(&m.Payload)
	case "delay_ms", "delayMs":
		return 4, d.uint64(&m.DelayMs)
	case "max_attempts", "maxAttempts":
		return 5, d.uint32(&m.MaxAttempts)
	case "lease_ms", "leaseMs":
		return 6, d.uint64(&m.LeaseMs)
	case "idempotency_key", "idempotencyKey":
		return 11, d.string(&m.IdempotencyKey)
	case "headers":
		return 12, d.headers(&m.Headers)
	case "after":
		return 14, d.array(func() bool {
			m.After = append(m.After, "")
			return d.string(&m.After[len(m.After)-1])
		})
	case "batch_size", "batchSize":
		return 15, d.uint32(&m.BatchSize)
	case "batch":
		return 16, d.string(&m.Batch)
	}
	return 0, false
}

func (d *hotDecoder) claim(name []byte, m *queuepb.ClaimRequest) (field int, ok bool) {
	switch string(name) {
	case "tenant":
		return 1, d.string(&m.Tenant)
	case "queues":
		return 2, d.array(func() bool {
			m.Queues = append(m.Queues, "")
			return d.string(&m.Queues[len(m.Queues)-1])
		})
	case "max_tasks", "maxTasks":
		return 3, d.uint32(&m.MaxTasks)
	case "lease_ms", "leaseMs":
		return 4, d.uint64(&m.LeaseMs)
	case "wait_ms", "waitMs":
		return 5, d.uint64(&m.WaitMs)
	case "completions":
		return 7, d.completions(&m.Completions)
	}
	return 0, false
}

func (d *hotDecoder) complete(name []byte, m *queuepb.CompleteRequest) (field int, ok bool) {
	switch string(name) {
	case "tenant":
		return 1, d.string(&m.Tenant)
	case "completions":
		return 2, d.completions(&m.Completions)
	}
	return 0, false
}

func (d *hotDecoder) completions(into *[]*queuepb.Completion) bool {
	return d.array(func() bool {
		m := &queuepb.Completion{}
		*into = append(*into, m)
		return d.object(func(d *hotDecoder, name []byte) (int, bool) {
			switch string(name) {
			case "id":
				return 1, d.string(&m.Id)
			case "token":
				return 2, d.uint64(&m.Token)
			case "result":
				return 3, d.bytes(&m.Result)
			}
			return 0, false
		})
	})
}

// object reads an object. It calls field with the name of each field. field reads the field's value
// and returns the field's number, which must be below 64. object refuses an object that contains a
// field twice.
func (d *hotDecoder) object(field func(d *hotDecoder, name []byte) (number int, ok bool)) bool {
	if !d.open('{') {
		return false
	}
	var seen uint64
	for d.json.PeekKind() == '"' {
		name, ok := d.quoted()
		if !ok {
			return false
		}
		number, ok := field(d, name)
		if !ok || seen&(1<<number) != 0 {
			return false
		}
		seen |= 1 << number
	}
	return d.open('}')
}

// headers reads an object of strings. It refuses an object that contains a key twice.
func (d *hotDecoder) headers(into *map[string]string) bool {
	if !d.open('{') {
		return false
	}
	headers := map[string]string{}
	for d.json.PeekKind() == '"' {
		name, ok := d.quoted()
		if !ok {
			return false
		}
		key, value := string(name), ""
		if _, twice := headers[key]; twice || !d.string(&value) {
			return false
		}
		headers[key] = value
	}
	*into = headers
	return d.open('}')
}

func (d *hotDecoder) array(item func() bool) bool {
	if !d.open('[') {
		return false
	}
	for {
		switch d.json.PeekKind() {
		case ']':
			return d.open(']')
		case 0: // the text ends, or is not JSON
			return false
		}
		if !item() {
			return false
		}
	}
}

func (d *hotDecoder) open(kind jsontext.Kind) bool {
	if d.json.PeekKind() != kind {
		return false
	}
	_, err := d.json.ReadToken()
	return err == nil
}

// quoted reads a string. The result is valid only until the next read.
func (d *hotDecoder) quoted() (text []byte, ok bool) {
	v, err := d.json.ReadValue()
	if err != nil || v.Kind() != '"' {
		return nil, false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1], true
	}
	d.scratch, err = jsontext.AppendUnquote(d.scratch[:0], v)
	return d.scratch, err == nil
}

// string reads a string into a field. If the field already has the same value, it does not allocate
// memory.
func (d *hotDecoder) string(into *string) bool {
	text, ok := d.quoted()
	if ok && *into != string(text) {
		*into = string(text)
	}
	return ok
}

func (d *hotDecoder) bytes(into *[]byte) bool {
	text, ok := d.quoted()
	if !ok || len(text)%4 != 0 {
		return false
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	*into = out[:n]
	return err == nil
}

func (d *hotDecoder) uint32(into *uint32) bool {
	n, ok := d.uint(32)
	*into = uint32(n)
	return ok
}

func (d *hotDecoder) uint64(into *uint64) bool {
	n, ok := d.uint(64)
	*into = n
	return ok
}

// uint reads a number of at most the given number of bits. The number may be in quotes.
func (d *hotDecoder) uint(bits int) (uint64, bool) {
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false
	}
	digits := []byte(v)
	if v.Kind() == '"' {
		digits = v[1 : len(v)-1]
	}
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(digits), 10, bits)
	return n, err == nil
}
