package program

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
)

// names interns names, so that the names in each task need no allocation.
type names map[string]string

// namesMax bounds the number of interned names.
const namesMax = 1 << 12

func (n names) of(text []byte) string {
	if known, is := n[string(text)]; is {
		return known
	}
	name := string(text)
	if len(n) < namesMax {
		n[name] = name
	}
	return name
}

// opening is the body of kindOpenProducer, which has no slots and no queues, and of kindOpenWorker:
//
//	session uint32, tenant text, and for a worker:
//	slots uint32, count uint32, and each queue as a text
type opening struct {
	session uint32
	tenant  string
	slots   int
	queues  []string
}

func (o opening) append(b []byte, k kind) []byte {
	b = binary.BigEndian.AppendUint32(b, o.session)
	b = appendText(b, o.tenant)
	if k == kindOpenProducer {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(o.slots))
	b = binary.BigEndian.AppendUint32(b, uint32(len(o.queues)))
	for _, queue := range o.queues {
		b = appendText(b, queue)
	}
	return b
}

func readOpening(b *body, k kind) (o opening, err error) {
	o.session = b.uint32("the session")
	o.tenant = string(b.text("the tenant"))
	if k == kindOpenProducer {
		return o, b.end()
	}
	o.slots = b.count(claimedMax, "slots")
	for range b.count(len(b.left)/2, "queues") {
		o.queues = append(o.queues, string(b.text("a queue")))
	}
	return o, b.end()
}

// appendTasks encodes the body of kindEnqueue:
//
//	session uint32, count uint32, and for each task: queue text, payload bytes
func appendTasks(b []byte, session uint32, tasks []driver.Task) []byte {
	b = binary.BigEndian.AppendUint32(b, session)
	b = binary.BigEndian.AppendUint32(b, uint32(len(tasks)))
	for i := range tasks {
		b = appendText(b, tasks[i].Queue)
		b = appendBytes(b, tasks[i].Payload)
	}
	return b
}

// readTasks decodes the tasks of kindEnqueue that follow the session. Payloads refer to the frame's
// buffer.
func readTasks(b *body, tenant string, known names, into []driver.Task) ([]driver.Task, error) {
	into = into[:0]
	for range b.count(tasksMax, "tasks") {
		queue := b.text("a queue")
		into = append(into, driver.Task{Tenant: tenant, Queue: known.of(queue), Payload: b.bytes("a payload")})
	}
	return into, b.end()
}

// appendDeliveries encodes the body of kindTasks:
//
//	count uint32, and for each task: handle uint64, attempt uint32, queue text, payload bytes
func appendDeliveries(b []byte, handles []uint64, deliveries []driver.Delivery) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(handles)))
	for i, handle := range handles {
		d := &deliveries[i]
		b = binary.BigEndian.AppendUint64(b, handle)
		b = binary.BigEndian.AppendUint32(b, d.Attempt)
		b = appendText(b, d.Queue)
		b = appendBytes(b, d.Payload)
	}
	return b
}

// readDeliveries decodes claimed tasks of a tenant, at most len(into). Payloads refer to the
// frame's buffer.
func readDeliveries(b *body, tenant string, known names, into []driver.Delivery) (int, error) {
	n := b.count(tasksMax, "tasks")
	if n > len(into) {
		return 0, fmt.Errorf("%d tasks for a claim of at most %d", n, len(into))
	}
	for i := range n {
		d := driver.Delivery{Tenant: tenant, Handle: b.uint64("a handle"), Attempt: b.uint32("an attempt")}
		d.Queue = known.of(b.text("a queue"))
		d.Payload = b.bytes("a payload")
		into[i] = d
	}
	if err := b.end(); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("no task; a claim must wait for at least one")
	}
	return n, nil
}

// appendHandles encodes the body of kindComplete and kindFail:
//
//	session uint32, count uint32, and for each task: handle uint64
func appendHandles(b []byte, session uint32, deliveries []driver.Delivery) ([]byte, error) {
	b = binary.BigEndian.AppendUint32(b, session)
	b = binary.BigEndian.AppendUint32(b, uint32(len(deliveries)))
	for i := range deliveries {
		handle, ok := deliveries[i].Handle.(uint64)
		if !ok {
			return b, fmt.Errorf("a delivery of queue %q was not claimed by this driver", deliveries[i].Queue)
		}
		b = binary.BigEndian.AppendUint64(b, handle)
	}
	return b, nil
}

func readHandles(b *body, into []uint64) ([]uint64, error) {
	into = into[:0]
	for range b.count(tasksMax, "handles") {
		into = append(into, b.uint64("a handle"))
	}
	return into, b.end()
}
