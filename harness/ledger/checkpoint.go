package ledger

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// checkpointMagic is the first field of a checkpoint and contains the version of the layout. The
// fields after it are varints unless a size is given. A text is preceded by its length:
//
//	round 8 | producers
//	n | n times a route: tenant, queue
//	reads | completions of unreadable payloads | for each kind of fault: count, n, n samples
//	n | n times an account: sent, acknowledged, refused, completed, completions refused,
//	                        n, n times a page: index, and runs that cover all of its tasks:
//	                        length, flags 1
//	checksum 8: xxHash of all preceding bytes, little-endian like all fields with a size
const checkpointMagic = "PRONYLC\x01"

// checkpointBytesMax bounds the number of bytes that Restore reads. It is enough for about 500
// million outstanding tasks, even if the state of each task differs from the state of its
// predecessor.
const checkpointBytesMax = 1 << 30

// Checkpoint writes the ledger, so that Restore can account for the remaining tasks if this process
// dies. It may be called while the load runs. The data of each producer is consistent and contains
// everything that was recorded before the call. The size of a checkpoint is proportional to the
// number of unsettled tasks. Checkpoint fails if w fails, or if the journal could not be written.
//
// After Restore, a checkpoint is enough to prove the following faults:
//   - a duplicate, if a completion of the task was acknowledged before the checkpoint, and another
//     one after Restore,
//   - a corruption, if the task was refused before the checkpoint and completed after Restore,
//   - all faults that were found before the checkpoint, and faults of deliveries after Restore,
//   - with all journals since the checkpoint: a loss, if the enqueue of the task was acknowledged
//     before the checkpoint, its completion was never requested, and the task is not delivered
//     after Restore.
//
// A checkpoint does not contain answers that arrived between the checkpoint and the end of the
// process. A task that was sent after the checkpoint, or was not answered before the checkpoint,
// may or may not have been enqueued. If the first completion of a task was acknowledged after the
// checkpoint, its second completion counts as the first. A task whose completion was requested may
// have been completed, so it is not lost. Without a journal this applies to all outstanding tasks.
func (l *Ledger) Checkpoint(w io.Writer) error {
	if err := l.checkpoint(w); err != nil {
		return fmt.Errorf("checkpoint of the ledger: %w", err)
	}
	return nil
}

func (l *Ledger) checkpoint(w io.Writer) error {
	if err := l.journal.failure(); err != nil {
		return err
	}
	hash := xxhash.New()
	out := bufio.NewWriterSize(io.MultiWriter(hash, w), 64<<10)
	b := binary.LittleEndian.AppendUint64([]byte(checkpointMagic), l.round)
	b = binary.AppendUvarint(b, uint64(len(l.accounts)))
	b = l.appendRoutes(b)
	b = l.faults.appendTo(b)
	used := l.used.Load()
	b = binary.AppendUvarint(b, uint64(used))
	for i := range used {
		b = l.accounts[i].appendTo(b)
		if _, err := out.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	if _, err := out.Write(b); err != nil { // needed if there is no account
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, hash.Sum64()))
	return err
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func (l *Ledger) appendRoutes(b []byte) []byte {
	l.routesMu.RLock()
	defer l.routesMu.RUnlock()
	b = binary.AppendUvarint(b, uint64(len(l.routes)))
	for _, r := range l.routes {
		b = appendText(appendText(b, r.Tenant), r.Queue)
	}
	return b
}

func (f *faults) appendTo(b []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	b = binary.AppendUvarint(b, f.reads.Load())
	b = binary.AppendUvarint(b, f.unreadableCompleted.Load())
	for _, kind := range f.kinds() {
		b = binary.AppendUvarint(b, kind.count)
		b = binary.AppendUvarint(b, uint64(len(kind.samples)))
		for _, sample := range kind.samples {
			b = appendText(b, sample)
		}
	}
	return b
}

func (a *account) appendTo(b []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range []uint64{a.sent, a.acknowledged, a.refused, a.completed, a.completionsRefused, uint64(len(a.live))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, p := range a.live {
		b = binary.AppendUvarint(b, p.index)
		for i := 0; i < pageTasks; {
			run := 1
			for i+run < pageTasks && p.tasks[i+run] == p.tasks[i] {
				run++
			}
			b = append(binary.AppendUvarint(b, uint64(run)), p.tasks[i])
			i += run
		}
	}
	return b
}
