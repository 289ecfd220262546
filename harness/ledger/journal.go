package ledger

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
)

// journal records the tasks whose completion is about to be requested.
type journal struct {
	kept atomic.Bool // whether there is a journal

	mu     sync.Mutex // may be locked after an account's mutex, never before
	w      io.Writer
	record []byte
	err    error // the first error of a write
}

// journalMagic is the first field of a journal and contains the version of the layout. It is
// followed by the ledger's round in 8 bytes, little-endian, and by records. A record consists of
// the size of its tasks in 4 bytes, their CRC-32 in 4 bytes, and the tasks. A task is two varints:
// its producer and its sequence number.
const journalMagic = "PRONYLJ\x01"

const (
	journalHeadBytes = len(journalMagic) + 8
	recordHeadBytes  = 8
	// recordBytesMax is larger than the tasks of any call.
	recordBytesMax = 64 << 20
)

// Journal starts a journal. From now on Completing writes to w the tasks whose completion is about
// to be requested. Once Journal has returned, nothing is written to an earlier journal, which may
// be closed. Journal may be called while the load runs.
//
// A caller should first start a journal, then take a checkpoint, and then remove the earlier
// journals. It then always has a checkpoint and all journals that Restore needs with this
// checkpoint. The written data must survive the end of the process but not a crash of the host, so
// a file without fsync is enough.
func (l *Ledger) Journal(w io.Writer) error {
	head := binary.LittleEndian.AppendUint64([]byte(journalMagic), l.round)
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("begin a journal of the ledger: %w", err)
	}
	l.journal.mu.Lock()
	l.journal.w = w
	l.journal.mu.Unlock()
	l.journal.kept.Store(true)
	return nil
}

// note writes a record with the given tasks. The next checkpoint returns the first error of note.
func (j *journal) note(ids []Identity) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var head [recordHeadBytes]byte
	j.record = append(j.record[:0], head[:]...)
	for _, id := range ids {
		j.record = binary.AppendUvarint(j.record, uint64(id.Producer))
		j.record = binary.AppendUvarint(j.record, id.Sequence)
	}
	tasks := j.record[recordHeadBytes:]
	binary.LittleEndian.PutUint32(j.record, uint32(len(tasks)))
	binary.LittleEndian.PutUint32(j.record[4:], crc32.ChecksumIEEE(tasks))
	if _, err := j.w.Write(j.record); err != nil && j.err == nil {
		j.err = fmt.Errorf("write the ledger's journal: %w", err)
	}
}

func (j *journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// readJournal calls visit for each task in a journal. The journal must belong to the given round.
// readJournal ignores a truncated record at the end, because the completions of its tasks were
// never requested.
func readJournal(r io.Reader, round uint64, visit func(producer, sequence uint64)) error {
	in := bufio.NewReader(r)
	var head [journalHeadBytes]byte
	if _, err := io.ReadFull(in, head[:]); cut(err) {
		return nil // the process died before it had written the header
	} else if err != nil {
		return err
	}
	if string(head[:len(journalMagic)]) != journalMagic {
		return errors.New("the file is not a journal of this version")
	}
	if of := binary.LittleEndian.Uint64(head[len(journalMagic):]); of != round {
		return fmt.Errorf("the journal belongs to round %016x, the checkpoint to round %016x", of, round)
	}
	for {
		var record [recordHeadBytes]byte
		if _, err := io.ReadFull(in, record[:]); cut(err) {
			return nil
		} else if err != nil {
			return err
		}
		size := binary.LittleEndian.Uint32(record[:])
		if size > recordBytesMax {
			return errors.New("the journal is damaged")
		}
		tasks := make([]byte, size)
		if _, err := io.ReadFull(in, tasks); cut(err) {
			return nil
		} else if err != nil {
			return err
		}
		if crc32.ChecksumIEEE(tasks) != binary.LittleEndian.Uint32(record[4:]) {
			return errors.New("the journal is damaged")
		}
		d := decoder{left: tasks}
		for len(d.left) > 0 && !d.bad {
			if producer, sequence := d.number(), d.number(); !d.bad {
				visit(producer, sequence)
			}
		}
		if d.bad {
			return errors.New("the journal is damaged")
		}
	}
}

func cut(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
