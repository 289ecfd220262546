package replica

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tables returns the tables of a member's store, except those that a compaction has just created or
// removed.
func (m *member) tables() []string {
	paths, err := filepath.Glob(filepath.Join(m.dir, "store", "*.sst"))
	require.NoError(m, err)
	paths = slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Size() == 0
	})
	require.NotEmpty(m, paths)
	return paths
}

// flip flips a bit in the middle of a file. It does nothing if a compaction has removed the file.
func flip(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	var b [1]byte
	if _, err = f.ReadAt(b[:], info.Size()/3); err == nil {
		b[0] ^= 1
		_, err = f.WriteAt(b[:], info.Size()/3)
	}
	return errors.Join(err, f.Close())
}

// A leader with a damaged table is asked for its store. It finds and reports the damage and hands
// leadership over. The next leader sends an undamaged store to the member that needs it.
func TestDamagedStoreIsNotSent(t *testing.T) {
	g := newGroup(t, func(o *Options) {
		small(o)
		slowElections(o)                // another leader would send its own store
		o.Store.Fatal = func(string) {} // Pebble may read the damaged block, too
	})
	leader := g.elect()
	g.fill(100)
	away := g.members[g.others(leader)[0]]
	g.stop(away)
	require.NoError(t, os.RemoveAll(filepath.Join(away.dir, "store")))
	require.NoError(t, os.RemoveAll(filepath.Join(away.dir, "raft")))
	require.NoError(t, os.RemoveAll(filepath.Join(away.dir, "snapshots")))
	g.fillBeyond(away)
	require.NoError(t, leader.Snapshot())
	flipped := map[string]bool{}
	flipTables := func() {
		for _, path := range leader.tables() {
			if !flipped[path] {
				assert.NoError(t, flip(path))
				flipped[path] = true
			}
		}
	}
	flipTables()

	g.start(away)
	require.Eventually(t, func() bool {
		flipTables() // also damages tables that a compaction wrote from blocks cached before
		return leader.Damage() != nil
	}, patience, step, "the damage is not found")
	require.ErrorContains(t, leader.Damage(), ".sst is damaged")
	require.ErrorContains(t, leader.Damage(), "empty data folder")
	var sound *member
	for _, m := range g.members {
		if m != leader && m != away {
			sound = m
		}
	}
	assert.Same(t, sound, g.leader(sound.id))
	g.fill(1, sound.id)
	g.caughtUp(away, sound)
	require.Eventually(t, func() bool { return away.Counters().Installed > 0 }, patience, step)
	require.NoError(t, away.Store().Checkpoint(filepath.Join(t.TempDir(), "copy")), "the installed store is undamaged")
	require.NoError(t, sound.Damage())
	require.NoError(t, away.Damage())

	_ = leader.Close() // its error depends on whether Pebble read a damaged block
	g.net.Listens(leader.id, "")
	require.NoError(t, leader.logs.Close())
	leader.Replica = nil
}

// The member must refuse a received store if any single byte is damaged.
func TestDamagedCopyIsRefused(t *testing.T) {
	g := newGroup(t, small)
	g.fill(100)
	from := g.leader()
	require.NoError(t, from.Snapshot())
	meta, stream, err := from.snapshots.Open(from.snapshots.latest().Meta.ID)
	require.NoError(t, err)
	sent, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.NoError(t, stream.Close())

	receive := func(content []byte) error {
		to, err := openSnapshots(filepath.Join(t.TempDir(), "snapshots"), nil)
		require.NoError(t, err)
		sink, err := to.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, nil)
		require.NoError(t, err)
		_, err = sink.Write(content)
		require.NoError(t, err)
		err = sink.Close()
		if err != nil {
			assert.Empty(t, to.toInstall())
			return err
		}
		assert.NotEmpty(t, to.toInstall())
		return unpack(to.toInstall(), filepath.Join(t.TempDir(), "store"))
	}
	require.NoError(t, receive(sent))
	require.Error(t, receive(sent[:len(sent)/2]))
	// This magic number ends a table; the 4-byte format version precedes it.
	footer := bytes.LastIndex(sent, []byte("\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"))
	require.Positive(t, footer)
	for bit := range 32 {
		flipped := bytes.Clone(sent)
		flipped[footer-4+bit/8] ^= 1 << (bit % 8)
		require.ErrorContains(t, receive(flipped), "its footer has format ", "bit %d", bit)
	}
	const tarBlock, checksumEnd = 512, 155 // a header's checksum ends with a space or NUL
	rng := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for range 300 {
		at := rng.IntN(len(sent))
		flipped := bytes.Clone(sent)
		flipped[at] ^= 1 << rng.IntN(8)
		// It may be tar padding or the end of a header's checksum.
		if sent[at] == 0 || at%tarBlock == checksumEnd {
			continue
		}
		require.Error(t, receive(flipped), "the store was accepted although byte %d was changed", at)
		refused++
	}
	require.Greater(t, refused, 100)
}
