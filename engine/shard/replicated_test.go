package shard

import (
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// fakeLog is a log whose test decides the outcome of each entry.
type fakeLog struct {
	store *storage.Store
	term  uint64

	mu       sync.Mutex
	silent   bool // no majority confirms that the node leads
	hold     bool // entries wait for the test
	index    uint64
	proposed []*fakeProposal
	applied  [][]byte
}

// fakeProposal is an entry that waits for the test or was answered.
type fakeProposal struct {
	entry []byte
	done  chan struct{}
	err   error
}

func (p *fakeProposal) Wait() error {
	<-p.done
	return p.err
}

func (p *fakeProposal) Done() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *fakeProposal) answer(err error) {
	p.err = err
	close(p.done)
}

func (l *fakeLog) Propose(entry []byte) storage.Proposal {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &fakeProposal{entry: entry, done: make(chan struct{})}
	if l.hold {
		l.proposed = append(l.proposed, p)
		return p
	}
	p.answer(l.apply(entry))
	return p
}

// apply puts an entry into the log and applies it, as raft would. The caller holds mu.
func (l *fakeLog) apply(entry []byte) error {
	l.index++
	l.applied = append(l.applied, entry)
	out, err := l.store.Apply([]storage.LogEntry{{Index: l.index, Term: l.term, Data: entry}})
	if err == nil && out.Skipped[0] {
		return storage.ErrSkipped
	}
	return err
}

// Verify confirms that the node leads, unless the log is silent.
func (l *fakeLog) Verify() storage.Proposal {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &fakeProposal{done: make(chan struct{})}
	if l.silent {
		l.proposed = append(l.proposed, p)
		return p
	}
	p.answer(nil)
	return p
}

func (l *fakeLog) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.proposed)
}

// replicated returns a shard on a replicated store whose tenure has begun.
func replicated(t *testing.T) (*fixture, *fakeLog) {
	t.Helper()
	return replicatedIn(t, 7)
}

func replicatedIn(t *testing.T, term uint64) (*fixture, *fakeLog) {
	t.Helper()
	return replicatedWith(t, term, queue.Config{})
}

func replicatedWith(t *testing.T, term uint64, cfg queue.Config) (*fixture, *fakeLog) {
	t.Helper()
	f := &fixture{t: t}
	f.nowMs.Store(1_000)
	var err error
	f.store, err = storage.Open("shard", storage.Options{FS: vfs.NewMem(), Durability: storage.Sync, Replicated: true})
	require.NoError(t, err)
	log := &fakeLog{store: f.store, term: term}
	tenure := storage.Tenure{Term: term, ID: 1}
	require.NoError(t, log.Propose(tenure.Begin()).Wait())
	f.Shard, err = New(f.store, Options{NowMs: f.nowMs.Load, Replicate: log, Tenure: tenure, Queue: cfg})
	require.NoError(t, err)
	return f, log
}

// TestNothingIsAnsweredFromWhatDidNotComeToPass decides answers that depend on an entry, and then
// refuses the entry although the node remains the leader. A failed transfer of the leadership has
// this effect.
func TestNothingIsAnsweredFromWhatDidNotComeToPass(t *testing.T) {
	keyed := queue.NewTask{Queue: "q", Key: "once"}
	f, log := replicated(t)
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	f.enqueue(queue.NewTask{Queue: "q"})
	leased := f.claim(1, "q")[0]
	log.mu.Lock()
	log.hold = true
	log.mu.Unlock()
	complete := queue.Settlement{Ref: leased.Ref, Token: leased.Token, Action: queue.Complete}
	settle := func() <-chan reply[[]error] {
		return ask(t, func(r func([]error, error)) error { return f.Settle(tenant, []queue.Settlement{complete}, r) })
	}
	refused := []<-chan reply[[]queue.Enqueued]{f.enqueueLater(keyed)}
	completed := []<-chan reply[[]error]{settle()}
	require.Eventually(t, func() bool { return log.held() > 0 }, waitMost, waitStep)
	for range 3 { // each in a separate turn, answered from the state only
		refused = append(refused, f.enqueueLater(keyed))
		completed = append(completed, settle())
	}
	require.Eventually(t, func() bool { // they are decided and wait for the first entry
		f.inbox.mu.Lock()
		defer f.inbox.mu.Unlock()
		return len(f.inbox.waiting) == 0 && f.deciding.age() == 0
	}, waitMost, waitStep)

	// The log refuses the first entry and skips the entries after it.
	answered := 0
	require.Eventually(t, func() bool {
		log.mu.Lock()
		defer log.mu.Unlock()
		for ; answered < len(log.proposed); answered++ {
			if answered == 0 {
				log.proposed[0].answer(&NotLeaderError{0})
			} else {
				log.proposed[answered].answer(log.apply(log.proposed[answered].entry))
			}
		}
		log.hold = false
		return len(completed[3]) > 0
	}, waitMost, waitStep)
	for i, c := range refused {
		assert.Error(t, receive(t, c).err, "enqueue %d", i)
	}
	for i, c := range completed {
		got := receive(t, c)
		assert.Error(t, got.err, "settlement %d: %v", i, got.value)
	}
}

// TestWhatMayHaveTakenEffectIsNotRefused makes a turn propose two entries, of which Raft refuses
// the second, as during a transfer of the leadership. The first entry may contain a command's
// decision. A caller that got "not the leader" would send the command again.
func TestWhatMayHaveTakenEffectIsNotRefused(t *testing.T) {
	for _, whole := range []bool{true, false} { // Raft refuses both entries, or only the second
		f, log := replicated(t)
		propose := func(seq uint64) storage.Commit {
			b := f.store.NewReplicatedBatch(log, storage.Tenure{Term: log.term, ID: 1})
			b.PutTask(queue.Ref{Seq: seq}, queue.Task{})
			c, err := b.Submit()
			require.NoError(t, err)
			return c
		}
		d := turn{committed: true}
		if !whole {
			d.early = []earlyCommit{{Commit: propose(1)}}
			require.NoError(t, d.early[0].Wait())
		}
		log.mu.Lock()
		log.hold = true
		log.mu.Unlock()
		d.commit = propose(2)
		log.proposed[0].answer(&NotLeaderError{0})
		settled := make(chan error, 1)
		d.commands = []command{&settle{out: make([]error, 1), reply: func(_ []error, err error) { settled <- err }}}
		f.pipe <- d
		err := receive(t, settled)
		require.Equal(t, whole, errors.Is(err, ErrNotLeader), "%v", err)
		require.Equal(t, !whole, errors.Is(err, ErrUnknownOutcome), "%v", err)
		f.Lose()
		require.NoError(t, f.store.Close())
	}
}

// TestACancellationInSlicesIsNotRefusedAsAWhole makes Raft refuse the second slice of a
// cancellation after the first slice took effect.
func TestACancellationInSlicesIsNotRefusedAsAWhole(t *testing.T) {
	f, log := replicated(t)
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	var refs []queue.Ref
	for range 2 {
		refs = append(refs, f.enqueue(newTasks("q", sliceMax)...)...)
	}
	log.mu.Lock()
	log.hold = true
	log.mu.Unlock()
	cancelled := ask(t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, refs, r) })
	require.Eventually(t, func() bool { return log.held() == 2 }, waitMost, waitStep)
	log.mu.Lock()
	first, second := log.proposed[0], log.proposed[1]
	first.answer(log.apply(first.entry))
	second.answer(&NotLeaderError{0})
	log.mu.Unlock()
	err := receive(t, cancelled).err
	require.ErrorIs(t, err, ErrUnknownOutcome)
	require.NotErrorIs(t, err, ErrNotLeader)
}

// TestLaterTermIssuesOtherNumbers loses all commits of a leader, as can happen when a majority
// loses power at durability none. The next leader, of a later term, must not issue the same ids or
// tokens.
func TestLaterTermIssuesOtherNumbers(t *testing.T) {
	numbers := func(term uint64) (ref queue.Ref, token uint64) {
		f, _ := replicatedIn(t, term)
		defer func() {
			f.Lose()
			require.NoError(t, f.store.Close())
		}()
		f.enqueue(queue.NewTask{Queue: "q"})
		d := f.claim(1, "q")[0]
		return d.Ref, d.Token
	}
	lastRef, lastToken := numbers(1)
	for _, term := range []uint64{2, 3, 400, 70_000, queue.TermsNumbered - 1} {
		ref, token := numbers(term)
		require.Greater(t, ref.Seq, lastRef.Seq+1<<32, "the range of a term is at least 1<<32 seqs")
		require.Greater(t, token, lastToken+queue.Token(1<<20, 0))
		lastRef, lastToken = ref, token
	}
	ref, token := numbers(1 << 60) // no overflow
	require.Greater(t, ref.Seq, lastRef.Seq)
	require.Greater(t, token, lastToken)
}

// A new leader begins to serve its shard without a confirmation by a majority. Its answers then
// require one.
func TestANewLeaderServesAtOnce(t *testing.T) {
	f, log := replicated(t)
	defer func() {
		f.Lose()
		require.NoError(t, f.store.Close())
	}()
	log.mu.Lock()
	log.silent = true
	log.mu.Unlock()
	g, err := NewClusterGroup(1, f.nowMs.Load, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, g.Lead(0, f.Shard))
	require.Equal(t, []int{0}, g.Led())
	require.Zero(t, log.held())
	answered := make(chan error, 1)
	require.NoError(t, f.Stats(func(_ []queue.Stats, err error) { answered <- err }))
	require.Eventually(t, func() bool { return log.held() == 1 }, waitMost, waitStep)
	require.Empty(t, answered)
	log.proposed[0].answer(nil)
	require.NoError(t, <-answered)
}
