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

// noteBytes encodes the size of a task's note as the last field of a record. If the task has a note,
// the format of the record is at least formatNote.
func (e *Encoder) noteBytes(n uint16) {
	if n > 0 {
		e.b[0] = max(e.b[0], formatNote)
	}
	if e.b[0] >= formatNote {
		e.uint(uint64(n))
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
