package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/record"
)

// sealName is the name of the file that describes a closed store.
const sealName = "SEAL"

// dump returns the whole content of a store, byte for byte, except the floor of the young records,
// which depends on when they are stored.
func dump(s *Store) (out string, err error) {
	snap := s.Snapshot()
	defer closeAfter(snap, &err)
	var b strings.Builder
	err = snap.Scan(nil, func(k, v []byte) (bool, error) {
		if k[0] != record.PrefixFloor {
			fmt.Fprintf(&b, "%x=%x\n", k, v)
		}
		return true, nil
	})
	return b.String(), err
}

// closedStore creates and closes a store with records in tables and in a log.
func closedStore(t *testing.T) (fs *vfs.MemFS, content string) {
	t.Helper()
	fs = vfs.NewCrashableMem()
	s, content := filledStore(t, fs)
	closeStore(t, s)
	return fs, content
}

func filledStore(t *testing.T, fs vfs.FS) (s *Store, content string) {
	t.Helper()
	s = open(t, fs, Options{})
	b := s.NewBatch()
	put := func(from, n uint64) {
		// Each task has a batch of its own: to name a flipped bit in a log, Pebble computes the
		// checksum of the batch for each of its bits.
		for seq := from; seq < from+n; seq++ {
			ref := queue.Ref{Queue: 1, Priority: uint8(seq % 3), Seq: seq}
			put := b.PutTask
			if seq%2 > 0 {
				put = b.PutFresh
			}
			put(ref, queue.Task{Payload: fmt.Appendf(nil, "payload of %d", seq), Extras: queue.NewExtras(queue.Extras{}, queue.Common{RetentionMs: seq})})
			b.PutProgress(ref, queue.Progress{Attempts: 1, Token: seq})
			b.PutDue(ref, ref.Priority, queue.Due{DueAtMs: int64(seq)})
			b.PutAttempt(ref, 1, queue.Attempt{Error: "oops"})
			b.PutExpiry(ref, int64(seq))
			b.PutKey(1, fmt.Sprint(seq), 1_000, queue.KeyRef{Ref: ref})
			b.PutResult(ref, 2_000, queue.Result{Value: []byte("done")})
			b.PutLease(seq, []queue.LeaseRef{{Ref: ref, Attempt: 1}}, 0)
			b.PutQueue(&queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: seq + 1})
			b.PutMeta(queue.Meta{NextBatch: seq})
			b.PutSystem("token", []byte("secret"))
			c, err := b.Submit()
			require.NoError(t, err)
			require.NoError(t, c.Wait())
		}
	}
	put(0, 60)
	require.NoError(t, s.db.Flush())
	put(60, 20)
	require.NoError(t, s.db.Flush())
	// Pebble compacts two tables in the background. After this call Pebble has nothing to compact,
	// so that a test may copy the files.
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{255}, false))
	put(80, 10)
	content, err := dump(s)
	require.NoError(t, err)
	return s, content
}

// killedStore creates such a store and returns the files of a killed process, with the names of the
// store's files.
func killedStore(t *testing.T) (killed *vfs.MemFS, names []string, content string) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s, content := filledStore(t, fs)
	killed = cloned(fs)
	closeStore(t, s)
	names, err := killed.List("shard")
	require.NoError(t, err)
	return killed, names, content
}

func bytesOf(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	require.NoError(t, err)
	all, err := io.ReadAll(f)
	require.NoError(t, errors.Join(err, f.Close()))
	return all
}

func cloned(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

func damaged(t *testing.T, fs *vfs.MemFS, name string, bit int) vfs.FS {
	t.Helper()
	copied := cloned(fs)
	all := bytesOf(t, copied, name)
	all[bit/8] ^= 1 << (bit % 8)
	f, err := copied.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(all)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
	return copied
}

func readAll(fs vfs.FS) (content string, err error) {
	// The read also returns the error.
	s, err := Open("shard", Options{FS: fs, Durability: Sync, Fatal: func(string) {}})
	if err != nil {
		return "", err
	}
	defer closeAfter(s, &err)
	return dump(s)
}

// places returns the offsets of the bytes of a file that are damaged, one at a time: those at its
// beginning and end, and a sample of the others. In the long form it returns all offsets.
func places(t *testing.T, size int) (out []int) {
	t.Helper()
	all := longtest.Asked(t)
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range size {
		if all || i < 40 || i >= size-100 || r.IntN(size) < 100 {
			out = append(out, i)
		}
	}
	return out
}

// A flipped bit anywhere in the files of a closed store is either detected when the store is opened
// or read, with an error that names the file, or it does not change what is read.
func TestDamageIsFoundAndNamed(t *testing.T) {
	fs, content := closedStore(t)
	names, err := fs.List("shard")
	require.NoError(t, err)
	kinds := map[string]int{}
	flips, found := 0, 0
	for _, name := range names {
		kinds[strings.TrimLeft(name, "0123456789")]++
		path := fs.PathJoin("shard", name)
		for _, at := range places(t, len(bytesOf(t, fs, path))) {
			flips++
			got, err := readAll(damaged(t, fs, path, at*8+at%8))
			if err != nil {
				found++
				require.ErrorContains(t, err, strings.TrimSuffix(name, ".sst"), "byte %d of %s", at, name)
				continue
			}
			require.Equal(t, content, got, "byte %d of %s", at, name)
		}
	}
	require.GreaterOrEqual(t, kinds[".sst"], 1)
	require.GreaterOrEqual(t, kinds[".log"], 1)
	t.Logf("in all: flipped %d bits in the files %v: %d were detected, the others change nothing", flips, names, found)
}

// tableMagic ends each completely written table.
const tableMagic = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"

// Pebble has no checksum over the format in a table's footer, and a flipped bit there hid the whole
// table. A table that was merged into another but not removed before the kill is no longer needed,
// so damage to it changes nothing.
func TestDamagedFormatOfATableIsFoundAfterAKill(t *testing.T) {
	killed, names, content := killedStore(t)
	found := map[string]int{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		path := killed.PathJoin("shard", name)
		table := bytesOf(t, killed, path)
		require.True(t, bytes.HasSuffix(table, []byte(tableMagic)))
		format := 8 * (len(table) - len(tableMagic) - 4)
		for bit := range 8 * 4 {
			got, err := readAll(damaged(t, killed, path, format+bit))
			if err == nil {
				require.Equal(t, content, got, "bit %d of %s", bit, name)
				continue
			}
			require.ErrorContains(t, err, strings.TrimSuffix(name, ".sst"), "bit %d", bit)
			found[name]++
		}
	}
	require.NotEmpty(t, found)
	for name, n := range found {
		require.Equal(t, 8*4, n, name)
	}
}

// A power loss while Pebble writes a table may preserve the table's last block and lose the one
// before it, so that the footer has the magic but no format. The manifest does not name such a
// table: the store opens, and Pebble removes the table.
func TestATableThatWasBeingWrittenIsNoDamage(t *testing.T) {
	killed, _, content := killedStore(t)
	path := killed.PathJoin("shard", "000999.sst")
	f, err := killed.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(append(make([]byte, 8<<10), tableMagic...))
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))

	require.NoError(t, killed.Remove("shard/LOCK"))
	before, err := killed.List("shard")
	require.NoError(t, err)
	require.NoError(t, disk.BreakSeal(killed, "shard", true))
	after, err := killed.List("shard")
	require.NoError(t, err)
	require.ElementsMatch(t, before, after, "a check changes nothing")

	got, err := readAll(killed)
	require.NoError(t, err)
	require.Equal(t, content, got)
	_, err = killed.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestDamageAfterAKillIsFoundAndNamed flips bits in each kind of file of a store whose process was
// killed. Each flip is either detected when the store is opened or read, with an error that names
// the file, or changes nothing.
func TestDamageAfterAKillIsFoundAndNamed(t *testing.T) {
	killed, names, content := killedStore(t)
	kinds, found := map[string]int{}, map[string]int{}
	for _, name := range names {
		kind := strings.TrimRight(strings.TrimLeft(name, "0123456789"), "0123456789")
		path := killed.PathJoin("shard", name)
		for _, at := range places(t, len(bytesOf(t, killed, path))) {
			kinds[kind]++
			got, err := readAll(damaged(t, killed, path, at*8+at%8))
			if err != nil {
				found[kind]++
				require.ErrorContains(t, err, strings.TrimSuffix(name, ".sst"), "byte %d of %s", at, name)
				continue
			}
			require.Equal(t, content, got, "byte %d of %s", at, name)
		}
	}
	require.Equal(t, kinds["MANIFEST-"], found["MANIFEST-"])
	for _, kind := range []string{".sst", ".log", "OPTIONS-"} { // older logs are no longer needed
		require.Positive(t, found[kind], kind)
	}
	require.Positive(t, kinds["SYNCED"])
	require.Zero(t, found["SYNCED"], "the other slot still has an older note")
	t.Logf("flipped %v bits: %v were detected, the others change nothing", kinds, found)
}

// A missing or truncated table or log is named, too.
func TestMissingAndCutFilesAreNamed(t *testing.T) {
	fs, _ := closedStore(t)
	names, err := fs.List("shard")
	require.NoError(t, err)
	for _, name := range names {
		path := fs.PathJoin("shard", name)
		size := len(bytesOf(t, fs, path))
		if size == 0 || name == sealName || name == "SYNCED" { // the seal makes SYNCED superfluous
			continue
		}
		for cut, change := range map[string]func(vfs.FS) error{
			"missing": func(fs vfs.FS) error { return fs.Remove(path) },
			"cut": func(fs vfs.FS) error {
				all := bytesOf(t, fs, path)
				f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
				require.NoError(t, err)
				_, err = f.Write(all[:size-1])
				return errors.Join(err, f.Sync(), f.Close())
			},
		} {
			copied := cloned(fs)
			require.NoError(t, change(copied))
			_, err := readAll(copied)
			require.ErrorContains(t, err, name, cut)
			require.ErrorContains(t, err, "restore a backup")
		}
	}
}

// The seal exists exactly while the store is closed. A store without a seal opens.
func TestSealIsOfAClosedStore(t *testing.T) {
	fs, content := closedStore(t)
	has := func() bool {
		_, err := fs.Stat("shard/" + sealName)
		return err == nil
	}
	require.True(t, has())
	s := open(t, fs, Options{})
	require.False(t, has())
	require.NoError(t, s.Checkpoint("copy"))
	_, err := fs.Stat("copy/" + sealName)
	require.NoError(t, err)
	closeStore(t, s)
	require.True(t, has())
	require.NoError(t, fs.Remove("shard/"+sealName))
	got, err := readAll(fs)
	require.NoError(t, err)
	require.Equal(t, content, got)
}
