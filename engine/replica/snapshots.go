package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// The snapshot of a replicated shard is the store itself: taking a snapshot flushes the store, and
// records the entry up to which the log may be truncated. Only a snapshot received from a leader is
// a separate file, until the store has been built from it. The files are:
//
//	snapshot.json   the record of the newest snapshot; replaced as a whole
//	received        the file that the leader sent; complete once snapshot.json names it

// snapshots is the raft.SnapshotStore of one group. It keeps only the newest snapshot.
type snapshots struct {
	dir        string
	checkpoint func(dir string) error // writes a copy of the store to the folder dir
	space      *storage.Space         // nil means that the space is unlimited

	noting sync.Mutex // held while the newest record is being replaced

	// mu guards now. Readers of now do not wait for noting, which is held during a disk write.
	mu  sync.Mutex
	now *record // nil if there is no snapshot
}

var _ raft.SnapshotStore = (*snapshots)(nil)

type record struct {
	Meta raft.SnapshotMeta `json:"meta"`
	// StoreIndex is the index of the last entry in the flushed store.
	StoreIndex uint64 `json:"store_index"`
	// Received is true until the store has been built from the received file.
	Received bool `json:"received,omitempty"`
}

const (
	recordName   = "snapshot.json"
	receivedName = "received"
	copyName     = "copy" // prefix of folders with a checkpoint that is being sent
)

func openSnapshots(dir string, checkpoint func(string) error) (*snapshots, error) {
	s := &snapshots{dir: dir, checkpoint: checkpoint}
	if err := disk.MakeFolder(vfs.Default, dir); err != nil {
		return nil, fmt.Errorf("make the snapshots' folder: %w", err)
	}
	leftovers, err := filepath.Glob(filepath.Join(dir, copyName+"-*"))
	if err != nil {
		return nil, fmt.Errorf("look for unfinished copies: %w", err)
	}
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("remove an unfinished copy: %w", err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	s.now = &record{}
	if err == nil {
		err = json.Unmarshal(text, s.now)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: remove this node's data folder, and let it join again", filepath.Join(dir, recordName), err)
	}
	return s, nil
}

func (s *snapshots) latest() *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil
	}
	r := *s.now
	return &r
}

// toInstall returns the path of the received file if the store has not been built from it yet.
// Otherwise it returns "".
func (s *snapshots) toInstall() string {
	if r := s.latest(); r != nil && r.Received {
		return filepath.Join(s.dir, receivedName)
	}
	return ""
}

func (s *snapshots) note(r record) error {
	s.noting.Lock()
	defer s.noting.Unlock()
	return s.noteLocked(r)
}

func (s *snapshots) noteLocked(r record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = disk.WriteWhole(filepath.Join(s.dir, recordName), text)
	}
	if err != nil {
		return fmt.Errorf("note a snapshot: %w", err)
	}
	s.mu.Lock()
	s.now = &r
	s.mu.Unlock()
	return nil
}

// installed records that the store was built from the received file, and removes the file.
func (s *snapshots) installed(storeIndex uint64) error {
	s.noting.Lock()
	defer s.noting.Unlock()
	r := s.latest()
	r.Received, r.StoreIndex = false, storeIndex
	if err := s.noteLocked(*r); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, receivedName)); err != nil {
		return fmt.Errorf("remove the installed snapshot: %w", err)
	}
	return nil
}

func newRecord(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, configurationIndex uint64) record {
	return record{Meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term, Configuration: c, ConfigurationIndex: configurationIndex,
	}}
}

// Create implements raft.SnapshotStore. If this node takes the snapshot of its own store, nothing
// is written to the sink.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &sink{to: s, record: newRecord(version, index, term, c, configurationIndex)}, nil
}

// List implements raft.SnapshotStore.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	r := s.latest()
	if r == nil {
		return nil, nil
	}
	return []*raft.SnapshotMeta{&r.Meta}, nil
}

// Open implements raft.SnapshotStore. It returns the received file if the store has not been built
// from it yet. Otherwise it returns a copy of the store. The copy may include entries after the
// snapshot's; the receiver skips them when the leader sends them again.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	r := s.latest()
	if r == nil || r.Meta.ID != id {
		return nil, nil, fmt.Errorf("snapshot %s: %w", id, errNoSnapshot)
	}
	if !r.Received {
		size, stream, err := s.copyStore()
		r.Meta.Size = size
		return &r.Meta, stream, err
	}
	f, err := os.Open(filepath.Join(s.dir, receivedName))
	if err != nil {
		return nil, nil, fmt.Errorf("open the received snapshot: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the received snapshot: %w", err), f.Close())
	}
	r.Meta.Size = info.Size()
	return &r.Meta, f, nil
}

type sink struct {
	to     *snapshots
	record record
	file   *os.File // contains the received data; nil until data arrives
}

// ID implements raft.SnapshotSink.
func (k *sink) ID() string { return k.record.Meta.ID }

// Write implements io.Writer.
func (k *sink) Write(b []byte) (int, error) {
	if k.to.space.Own() >= disk.SpaceCritical {
		return 0, errors.New("receive a snapshot: the disk has too little space; the leader sends it again later")
	}
	if k.file == nil {
		f, err := os.OpenFile(filepath.Join(k.to.dir, receivedName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, fmt.Errorf("receive a snapshot: %w", err)
		}
		k.file = f
	}
	return k.file.Write(b)
}

// Close implements raft.SnapshotSink. It makes the snapshot the newest one.
func (k *sink) Close() error {
	if k.file != nil {
		if err := errors.Join(k.file.Sync(), checkReceived(k.file), k.file.Close()); err != nil {
			// Raft refuses the snapshot, and the leader sends another one.
			return fmt.Errorf("receive a snapshot: %w", err)
		}
		// Both the received file and the new store must fit on the disk.
		if err := k.to.fits(); err != nil {
			return err
		}
		k.record.Received = true
	}
	k.to.noting.Lock()
	defer k.to.noting.Unlock()
	if newest := k.to.latest(); k.file == nil && newest != nil && newest.Meta.Index > k.record.Meta.Index {
		// While this node took a snapshot, a newer one arrived from the leader, and Raft truncated
		// the log for it.
		return errNoSnapshot
	}
	return k.to.noteLocked(k.record)
}

// fits returns an error if the disk lacks the space to build a store from the received snapshot.
func (s *snapshots) fits() error {
	info, err := os.Stat(filepath.Join(s.dir, receivedName))
	if err != nil {
		return fmt.Errorf("receive a snapshot: %w", err)
	}
	if u := s.space.Usage(); u.Total > 0 && u.Available < u.Critical+uint64(info.Size()) {
		return fmt.Errorf("receive a snapshot: the store needs %[2]d bytes, but the disk has only %[1]d bytes available; the leader sends the snapshot again later", u.Available, info.Size())
	}
	return nil
}

// Cancel implements raft.SnapshotSink. The received file remains; the next snapshot overwrites it.
func (k *sink) Cancel() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}
