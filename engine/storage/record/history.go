package record

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

func (e *Encoder) history(h queue.History) {
	e.uint(uint64(h.NewestBytes))
	e.uint(uint64(h.BeforeBytes))
}

func (d decoder) history() queue.History {
	if d.Format < 3 {
		return queue.History{}
	}
	return queue.History{NewestBytes: d.Uint32(), BeforeBytes: d.Uint32()}
}

// noteAndShift encodes the size of a task's note and its PriorityShift as the last fields of a
// record, unless claims follow them. If the task has a note or a changed priority, it changes the
// format of the record, which becomes at least the given one.
func (e *Encoder) noteAndShift(note uint16, shift int8, format byte) {
	switch {
	case shift != 0:
		format = max(format, formatShift)
	case note > 0:
		format = max(format, formatNote)
	}
	e.b[0] = max(e.b[0], format)
	if e.b[0] >= formatNote {
		e.uint(uint64(note))
	}
	if e.b[0] >= formatShift {
		e.int(int64(shift))
	}
}

func (d decoder) noteBytes() uint16 {
	if d.Format < formatNote {
		return 0
	}
	n := d.Uint()
	if n == 0 && d.Format == formatNote || n > queue.NoteBytesMax {
		d.Fail(fmt.Errorf("a note of %d bytes is out of range", n))
	}
	return uint16(n)
}

func (d decoder) priorityShift() int8 {
	if d.Format < formatShift {
		return 0
	}
	shift := d.Int()
	if shift == 0 && d.Format == formatShift || shift < -queue.MaxPriority || shift > queue.MaxPriority {
		d.Fail(fmt.Errorf("a priority that is changed by %d is out of range", shift))
		return 0
	}
	return int8(shift)
}

// EncodeNote encodes the note of a task:
//
//	format | text
func EncodeNote(e *Encoder, note string) {
	e.start()
	e.b = append(e.b, note...)
}

// DecodeNote decodes the note of a task.
func DecodeNote(b []byte) (string, error) {
	d := decode(b)
	return string(d.Rest), d.Err
}
