package shard

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
)

// issued records the ids and tokens issued by servers whose data descends from one another.
type issued struct {
	*testing.T

	refs   map[queue.Ref]bool
	tokens map[uint64]bool
}

// life runs a shard on the store of a data folder: in a term of a cluster, or without a cluster in
// term 0. It issues ids and tokens in the queues, and then calls do.
func (i *issued) life(data string, d storage.Durability, term uint64, do func(*storage.Store, func(queues ...string)), queues ...string) {
	i.Helper()
	f := &fixture{t: i.T}
	f.nowMs.Store(1_000)
	var err error
	f.store, err = storage.Open(storage.ShardFolder(data, 0), storage.Options{Durability: d, Replicated: term > 0})
	require.NoError(i, err)
	o := Options{NowMs: f.nowMs.Load}
	if term > 0 {
		log := &fakeLog{store: f.store, term: term}
		log.index = f.store.Position().Index
		o.Replicate, o.Tenure = log, storage.Tenure{Term: term, ID: term}
		require.NoError(i, log.Propose(o.Tenure.Begin()).Wait())
	}
	f.Shard, err = New(f.store, o)
	require.NoError(i, err)
	issue := func(queues ...string) {
		i.Helper()
		for _, q := range queues {
			for _, ref := range f.enqueue(newTasks(q, 5)...) {
				assert.False(i, i.refs[ref], "the id of %v was issued before", ref)
				i.refs[ref] = true
			}
			for _, t := range f.claim(3, q) {
				assert.False(i, i.tokens[t.Token], "the token %d was issued before", t.Token)
				i.tokens[t.Token] = true
			}
		}
	}
	issue(queues...)
	if do != nil {
		do(f.store, issue)
	}
	if term > 0 {
		f.Lose()
	} else {
		f.Close()
	}
	require.NoError(i, f.store.Close())
}

// TestARestoredShardIssuesOtherNumbers restores one backup twice, and also a backup of a restored
// server, while the original server continues to run, in later terms too.
func TestARestoredShardIssuesOtherNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		durability  storage.Durability
		term, later uint64
	}{
		"sync":                         {storage.Sync, 0, 0},
		"none":                         {storage.None, 0, 0},
		"cluster":                      {storage.Sync, 3, 4},
		"cluster that stands alone":    {storage.Sync, 3, 0},
		"server that becomes one of 3": {storage.None, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			i := &issued{T: t, refs: map[queue.Ref]bool{}, tokens: map[uint64]bool{}}
			data := filepath.Join(t.TempDir(), "data")
			backUp := func(data string, term uint64) (path string) {
				i.life(data, c.durability, term, func(s *storage.Store, issue func(queues ...string)) {
					var err error
					path, _, err = backup.Make(t.Context(), data, "b", backup.Manifest{CreatedAtMs: time.Now().UnixMilli(), Shards: 1}, func(_ int, dir string) error {
						return s.Checkpoint(dir)
					})
					require.NoError(t, err)
					issue("old", "after the backup")
				}, "old")
				return path
			}
			restored := func(from string) string {
				before := time.Now().UnixMilli()
				require.Eventually(t, func() bool { return time.Now().UnixMilli() > before }, waitMost, waitStep)
				data := filepath.Join(t.TempDir(), "data")
				_, err := backup.Restore(t.Context(), from, data, nil)
				require.NoError(t, err)
				return data
			}
			// lives starts the server three times, in a cluster in one term each, and returns the
			// next term.
			lives := func(data string, term uint64) uint64 {
				for range 3 {
					i.life(data, c.durability, term, nil, "old", "another")
					term += min(term, 1)
				}
				return term
			}
			first := backUp(data, c.term)
			lives(data, c.term+min(c.term, 1))
			lives(restored(first), c.later)
			again := restored(first)
			second := backUp(again, lives(again, c.later))
			later := c.later + 4*min(c.later, 1)
			lives(again, later)
			lives(restored(second), later)
		})
	}
}
