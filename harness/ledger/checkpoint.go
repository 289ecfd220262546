package ledger

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// checkpointMagic begins a checkpoint, with the version of its layout. Then follow, as varints where no size is given, and each text after
// its length:
//
//	round 8 | producers
//	n | n times a route: tenant, queue
//	reads | completions of unreadable payloads | for each kind of fault: count, n, n samples
//	n | n times an account: sent, acknowledged, refused, completed, completions refused,
//	                        n, n times a page: index, and runs until all of its tasks are covered: length, flags 1
//	checksum 8: xxHash of all before, little-endian as all sizes
const checkpointMagic = "PRONYLC\x01"

// checkpointBytesMax bounds what Restore reads: some 500 million outstanding tasks, each in another state than the one before.
const checkpointBytesMax = 1 << 30

// Checkpoint writes the ledger, so that Restore can judge the rest of its tasks if this process dies. It may be called while the load
// runs: what it writes of a producer is consistent, and holds all that was entered before the call. The size follows the tasks that are
// not settled. It fails if w does, or if the journal could not be written.
//
// A checkpoint proves, after Restore, that
//   - a task is duplicated whose completion was acknowledged before the checkpoint, and then again,
//   - a task is corrupted that was refused before the checkpoint and was completed all the same,
//   - all faults that were found before the checkpoint, and those among the deliveries after Restore,
//   - with the journals since the checkpoint: a task is lost whose enqueue was acknowledged before the checkpoint, whose completion was
//     never asked for, and that is not delivered any more.
//
// It cannot tell what was answered between the checkpoint and the end of the process. So a task may have been enqueued or not that was
// sent after the checkpoint, or not answered before it; a second completion of a task that was first completed in between counts as the
// first; and a task may have been completed, and is not lost, whose completion had been asked for. Without a journal that holds for all
// tasks that were outstanding.
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
	if _, err := out.Write(b); err != nil { // without an account
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
