package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func TestNotesAreEncoded(t *testing.T) {
	var e Encoder
	for _, note := range []string{"", "half", strings.Repeat("é", queue.NoteBytesMax/2)} {
		EncodeNote(&e, note)
		got, err := DecodeNote(e.Bytes())
		require.NoError(t, err)
		assert.Equal(t, note, got)
	}
	_, err := DecodeNote(nil)
	require.Error(t, err)
}

// Only the records of a task with a note need a server that knows notes.
func TestOnlyRecordsOfANoteHaveItsFormat(t *testing.T) {
	var e Encoder
	EncodeDue(&e, queue.Due{})
	plain := len(e.Bytes())
	assert.EqualValues(t, Format, e.Bytes()[0])
	EncodeDue(&e, queue.Due{NoteBytes: 1})
	assert.EqualValues(t, formatNote, e.Bytes()[0])
	assert.Len(t, e.Bytes(), plain+1)
	EncodeProgress(&e, queue.Progress{})
	assert.EqualValues(t, Format, e.Bytes()[0])
	EncodeProgress(&e, queue.Progress{NoteBytes: 1})
	assert.EqualValues(t, formatNote, e.Bytes()[0])
	for _, n := range []byte{0, 0xff} { // the second one is cut short
		_, err := DecodeProgress(append(e.Bytes()[:len(e.Bytes())-1], n))
		require.Error(t, err)
	}
}

// Only the records of a task with a changed priority need a server that knows changed priorities.
func TestOnlyRecordsOfAChangedPriorityHaveItsFormat(t *testing.T) {
	var e Encoder
	EncodeDue(&e, queue.Due{PriorityShift: 3})
	assert.EqualValues(t, formatShift, e.Bytes()[0])
	EncodeProgress(&e, queue.Progress{NoteBytes: 7, PriorityShift: -queue.MaxPriority})
	assert.EqualValues(t, formatShift, e.Bytes()[0])
	for _, n := range []byte{0, 2 * (queue.MaxPriority + 1), 2*queue.MaxPriority + 1, 0xff} { // no difference, 10, -10, and one that is cut short
		_, err := DecodeProgress(append(e.Bytes()[:len(e.Bytes())-1], n))
		require.Error(t, err)
	}
}
