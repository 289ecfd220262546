package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

// note returns the note and the end of the lease of the only task.
func (b *bench) note() (note string, leaseLeft time.Duration) {
	b.Helper()
	tasks := b.Tasks(jobs.DefaultQueue)
	require.Len(b, tasks, 1)
	out, err := b.Client.API().GetTask(b.Context(), &queuepb.GetTaskRequest{Id: tasks[0].GetId()})
	require.NoError(b, err)
	return out.GetTask().GetNote(), time.Duration(out.GetTask().GetLeaseExpiresAtMs()-b.Now().UnixMilli()) * time.Millisecond
}

// reporting handles emails by reporting each note of the channel, until the channel is closed.
func (b *bench) reporting(fails error) chan<- string {
	notes := make(chan string)
	send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
		for note := range notes {
			job.Progress(note)
		}
		return fails
	})
	return notes
}

func TestProgressIsSeenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		notes := b.reporting(nil)
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: time.Hour})
		after(time.Second)
		notes <- "1 of 3"
		after(time.Millisecond)
		note, left := b.note()
		assert.Equal(t, "1 of 3", note)
		assert.Greater(t, left, time.Hour-time.Second, "it extends the lease")
		close(notes)
		after(time.Second)
		assert.Equal(t, []jobs.Outcome{jobs.Completed}, b.outcomes())
	})
}

// A job that reports its progress often extends its lease once in 2 s, and the last note arrives.
func TestNotesAreRateLimited(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		notes := b.reporting(nil)
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: time.Hour})
		seen := map[string]bool{}
		for i := range 100 {
			notes <- fmt.Sprint(i)
			after(100 * time.Millisecond)
			note, _ := b.note()
			seen[note] = true
		}
		assert.InDelta(t, 5, len(seen), 1, "in 10 s")
		after(2 * time.Second)
		note, _ := b.note()
		assert.Equal(t, "99", note)
		close(notes)
	})
}

// A note does not cause an extension shortly before the next one.
func TestANoteWaitsForAnExtensionThatIsDue(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		notes := b.reporting(nil)
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: 30 * time.Second})
		after(9 * time.Second)
		notes <- "half"
		after(500 * time.Millisecond)
		note, left := b.note()
		assert.Empty(t, note)
		assert.Less(t, left, 21*time.Second)
		after(time.Second)
		note, left = b.note()
		assert.Equal(t, "half", note)
		assert.Greater(t, left, 29*time.Second)
		close(notes)
	})
}

// A failed attempt keeps its last note.
func TestTheLastNoteIsSentBeforeTheFailure(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		notes := b.reporting(errors.New("no such mailbox"))
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: 30 * time.Second})
		notes <- "half"
		after(time.Millisecond)
		notes <- "all but one"
		close(notes)
		after(time.Millisecond)
		require.Equal(t, []jobs.Outcome{jobs.Failed}, b.outcomes())
		note, _ := b.note()
		assert.Equal(t, "all but one", note)
	})
}

func TestALongNoteIsCut(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		notes := b.reporting(nil)
		b.enqueue(Email{})
		b.run(jobs.Worker{Lease: time.Hour})
		notes <- "x" + strings.Repeat("é", 1<<10) + "\xff"
		after(time.Millisecond)
		note, _ := b.note()
		assert.Equal(t, "x"+strings.Repeat("é", 511), note)
		close(notes)
	})
	(&jobs.Job[Email]{}).Progress("without a worker")
}
