package storage

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

// contents is a model of the expected content of a store, with a map for each kind of record.
type contents struct {
	ever      map[queue.Ref]bool
	tasks     map[queue.Ref]queue.Task
	progress  map[queue.Ref]queue.Progress
	due       map[dueRef]queue.Due
	dead      map[queue.Ref]queue.Dead
	attempts  map[queue.Ref]map[uint32]queue.Attempt
	notes     map[queue.Ref]string
	expiries  map[timedRef]bool
	keys      map[bucketKey]queue.KeyRef
	uniques   map[uniqueKey]queue.UniqueRef
	sums      map[queue.Sum]int64       // Bytes is 0 in the key
	results   map[timedRef]queue.Result // by bucket
	system    map[string][]byte
	leases    map[uint64][]queue.LeaseRef
	dropped   uint64                   // lease batches up to this number were dropped
	extended  map[uint64]map[int]int64 // by batch and place
	queues    map[uint32]queue.Record
	recurring map[recurringName]queue.Recurring
	claimed   map[uint64]int64 // by batch
	finished  map[finishedAt]queue.Finished
	meta      queue.Meta
}

type timedRef struct {
	ref queue.Ref
	ms  int64
}

type dueRef struct {
	timedRef
	lane uint8
}

type bucketKey struct {
	bucket int64
	queue  uint32
	key    string
}

func newContents() *contents {
	return &contents{
		ever: map[queue.Ref]bool{}, tasks: map[queue.Ref]queue.Task{}, progress: map[queue.Ref]queue.Progress{},
		due: map[dueRef]queue.Due{}, dead: map[queue.Ref]queue.Dead{}, attempts: map[queue.Ref]map[uint32]queue.Attempt{},
		notes: map[queue.Ref]string{}, expiries: map[timedRef]bool{}, keys: map[bucketKey]queue.KeyRef{}, uniques: map[uniqueKey]queue.UniqueRef{}, sums: map[queue.Sum]int64{}, results: map[timedRef]queue.Result{},
		system: map[string][]byte{}, leases: map[uint64][]queue.LeaseRef{}, extended: map[uint64]map[int]int64{}, queues: map[uint32]queue.Record{},
		recurring: map[recurringName]queue.Recurring{}, claimed: map[uint64]int64{}, finished: map[finishedAt]queue.Finished{},
	}
}

// Values come from small sets that include the ends of their ranges, so that neighbours meet and
// keys end in 0x00 and 0xff.
var (
	someQueues = []uint32{0, 1, 255, 256, math.MaxUint32}
	somePrios  = []uint8{0, 3, queue.MaxPriority}
	someSeqs   = []uint64{0, 1, 2, 254, 255, 256, 1 << 40}
	someMs     = []int64{1, 255, 256, 1_000, 1 << 40}
	someKeys   = []string{"k", "kk", "\xff", "\x00"}
)

func drawFewRef(t *rapid.T) queue.Ref {
	return queue.Ref{
		Queue: rapid.SampledFrom(someQueues).Draw(t, "queue"), Priority: rapid.SampledFrom(somePrios).Draw(t, "priority"),
		Seq: rapid.SampledFrom(someSeqs).Draw(t, "seq"),
	}
}

// drawLane draws one of the two lanes of a priority.
func drawLane(t *rapid.T, priority uint8) uint8 {
	return rapid.SampledFrom([]uint8{priority, queue.DelayedLane(priority)}).Draw(t, "lane")
}

func drawPayload(t *rapid.T) []byte {
	if p := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"); len(p) > 0 {
		return p
	}
	return nil
}

func (c *contents) mutate(t *rapid.T, b *Batch) {
	ref := drawFewRef(t)
	at := rapid.SampledFrom(someMs).Draw(t, "ms")
	drop := rapid.IntRange(0, 2).Draw(t, "drop") == 1
	timed := timedRef{ref, at}
	switch kind := rapid.SampledFrom([]string{
		"task", "task", "task", "progress", "due", "due", "dead", "attempts", "attempts", "note", "expiry", "key", "unique", "unique", "result", "sum", "system", "lease", "queue", "recurring", "finished", "finished",
	}).Draw(t, "kind"); kind {
	case "task":
		c.mutateTask(t, b, ref, drop)
	case "finished":
		c.mutateFinished(t, b, ref)
	case "note":
		if drop {
			delete(c.notes, ref)
			b.DropNote(ref)
			return
		}
		c.notes[ref] = string(drawPayload(t)) + "n"
		b.PutNote(ref, c.notes[ref])
	case "progress":
		if drop {
			delete(c.progress, ref)
			b.DropProgress(ref)
			return
		}
		p := queue.Progress{DueAtMs: at, Attempts: rapid.Uint32Range(0, 30).Draw(t, "attempts"), Token: queue.Token(rapid.Uint64Range(0, 4).Draw(t, "token's batch"), rapid.IntRange(0, 1).Draw(t, "place")), History: drawHistory(t), Claims: queue.Claims{FirstMs: rapid.SampledFrom([]int64{0, 7}).Draw(t, "first claim")}}
		c.progress[ref] = p
		b.PutProgress(ref, p)
	case "due":
		key := dueRef{timed, drawLane(t, ref.Priority)}
		if drop {
			delete(c.due, key)
			b.DropDue(ref, key.lane, at)
			return
		}
		d := queue.Due{DueAtMs: at, Bytes: uint32(at), History: drawHistory(t), Extras: drawExtras(t)}
		c.due[key] = d
		b.PutDue(ref, key.lane, d)
	case "dead":
		if drop {
			delete(c.dead, ref)
			b.DropDead(ref)
			return
		}
		c.dead[ref] = queue.Dead{DiedAtMs: at, Reason: queue.TimeToLiveOver}
		b.PutDead(ref, c.dead[ref])
	case "attempts":
		c.mutateAttempts(t, b, ref, drop)
	case "recurring":
		c.mutateRecurring(t, b, ref, drop)
	case "expiry":
		if drop {
			delete(c.expiries, timed)
			b.DropExpiry(ref, at)
			return
		}
		c.expiries[timed] = true
		b.PutExpiry(ref, at)
	case "unique":
		c.mutateUnique(t, b, ref, at, drop)
	default:
		c.mutateRest(t, b, kind, timed, drop)
	}
}

// mutateTask puts each task at most once, because DropTask relies on that, but may replace it.
func (c *contents) mutateTask(t *rapid.T, b *Batch, ref queue.Ref, drop bool) {
	if task, there := c.tasks[ref]; there && drop {
		delete(c.tasks, ref)
		b.DropTask(ref)
	} else if there {
		edited := withHeaders(rapid.Uint64Range(0, 3).Draw(t, "with headers"), drawPayload(t))
		task.Payload, task.HasHeaders = edited.Payload, edited.HasHeaders
		c.tasks[ref] = task
		b.ReplaceTask(ref, task)
	} else if !c.ever[ref] {
		task := withHeaders(rapid.Uint64Range(0, 3).Draw(t, "with headers"), drawPayload(t))
		task.EnqueuedAtMs, task.Delayed, task.Extras = 5, rapid.IntRange(0, 3).Draw(t, "delayed") == 1, drawExtras(t)
		c.ever[ref], c.tasks[ref] = true, task
		if task.Delayed || rapid.Bool().Draw(t, "for good") {
			b.PutTask(ref, task)
		} else {
			b.PutFresh(ref, task)
		}
	}
}

func (c *contents) mutateAttempts(t *rapid.T, b *Batch, ref queue.Ref, drop bool) {
	// Use few tasks, so that they get many attempts.
	ref.Queue, ref.Priority, ref.Seq = someQueues[ref.Queue%2], 0, ref.Seq%2
	n := rapid.SampledFrom([]uint32{1, 2, 255, 256, attemptDeletesMax, attemptDeletesMax + 1}).Draw(t, "number")
	if drop {
		first := rapid.SampledFrom([]uint32{1, 2, 250}).Draw(t, "first")
		if first > n {
			first = 1
		}
		maps.DeleteFunc(c.attempts[ref], func(have uint32, _ queue.Attempt) bool { return have >= first && have <= n })
		b.DropAttempts(ref, first, n)
		return
	}
	if c.attempts[ref] == nil {
		c.attempts[ref] = map[uint32]queue.Attempt{}
	}
	c.attempts[ref][n] = queue.Attempt{Outcome: queue.Failed, Error: rapid.SampledFrom([]string{"", "oops"}).Draw(t, "error")}
	b.PutAttempt(ref, n, c.attempts[ref][n])
}

func (c *contents) mutateRest(t *rapid.T, b *Batch, kind string, timed timedRef, drop bool) {
	ref, at := timed.ref, timed.ms
	key := rapid.SampledFrom(someKeys).Draw(t, "key")
	switch kind {
	case "key":
		if drop {
			maps.DeleteFunc(c.keys, func(k bucketKey, _ queue.KeyRef) bool { return k.bucket <= at })
			c.dropSums(queue.KeptKeys, at)
			b.DropKeys(at)
			return
		}
		k := queue.KeyRef{Ref: ref, ExpiresAtMs: rapid.Int64Range(1, 9).Draw(t, "expires")}
		c.keys[bucketKey{at, ref.Queue, key}] = k
		b.PutKey(ref.Queue, key, at, k)
	case "result":
		if drop {
			maps.DeleteFunc(c.results, func(k timedRef, _ queue.Result) bool { return k.ms <= at })
			c.dropSums(queue.KeptResults, at)
			b.DropResults(at)
			return
		}
		c.results[timed] = queue.Result{CompletedAtMs: at, Value: drawPayload(t)}
		b.PutResult(ref, at, c.results[timed])
	case "sum":
		s := queue.Sum{Kind: rapid.SampledFrom([]queue.Kept{queue.KeptKeys, queue.KeptUniques, queue.KeptResults}).Draw(t, "kept"), Bucket: at, Tenant: key + "t"}
		bytes := rapid.SampledFrom([]int64{0, 1, math.MaxInt64}).Draw(t, "bytes")
		if c.sums[s] = bytes; bytes == 0 {
			delete(c.sums, s)
		}
		s.Bytes = bytes
		b.PutSum(s)
	case "system":
		if drop {
			delete(c.system, key)
			b.PutSystem(key, nil)
			return
		}
		c.system[key] = append([]byte{}, drawPayload(t)...)
		b.PutSystem(key, c.system[key])
	case "lease":
		// A dropped batch is never put again.
		batch := c.dropped + rapid.Uint64Range(1, 4).Draw(t, "batch")
		if drop {
			batch = c.dropped + 1
			c.dropped++
			delete(c.leases, batch)
			b.DropLease(batch)
			for i := range c.extended[batch] {
				b.DropExtension(batch, i)
			}
			delete(c.extended, batch)
			return
		}
		if c.leases[batch] != nil && rapid.Bool().Draw(t, "extend") {
			if c.extended[batch] == nil {
				c.extended[batch] = map[int]int64{}
			}
			i := rapid.IntRange(0, 1).Draw(t, "place")
			c.extended[batch][i] = at
			b.PutExtension(batch, i, at)
			return
		}
		if touched := sorted(c.progress, compareRefs); len(touched) > 0 && rapid.Bool().Draw(t, "of one with progress") {
			ref = rapid.SampledFrom(touched).Draw(t, "ref")
		}
		again := c.leases[batch] != nil
		c.leases[batch] = []queue.LeaseRef{{Ref: ref, Attempt: rapid.Uint32Range(0, 2).Draw(t, "attempt"), ExpiresAtMs: at}, {Ref: drawFewRef(t), Attempt: 1}}
		if again {
			b.ReplaceLease(batch, c.leases[batch], c.claimed[batch])
		} else {
			c.claimed[batch] = rapid.SampledFrom([]int64{0, 9}).Draw(t, "claimed")
			b.PutLease(batch, c.leases[batch], c.claimed[batch])
		}
	case "queue":
		r := queue.Record{ID: ref.Queue, Tenant: "t", Name: key, NextSeq: uint64(at), Counts: queue.Counts{HistoryBytes: uint64(at)}}
		c.queues[ref.Queue] = r
		b.PutQueue(&r)
		c.meta = queue.Meta{NextBatch: uint64(at), NextQueue: ref.Queue}
		b.PutMeta(c.meta)
	}
}

func (c *contents) dropSums(kind queue.Kept, last int64) {
	maps.DeleteFunc(c.sums, func(s queue.Sum, _ int64) bool { return s.Kind == kind && s.Bucket <= last })
}

func drawHistory(t *rapid.T) queue.History {
	return queue.History{NewestBytes: rapid.Uint32Range(0, 300).Draw(t, "newest"), BeforeBytes: rapid.Uint32Range(0, 1).Draw(t, "before")}
}

func drawBackoff(t *rapid.T) queue.Backoff {
	return queue.Backoff{
		InitialMs: rapid.Uint64().Draw(t, "initial"), MaxMs: rapid.Uint64().Draw(t, "max"),
		MultiplierPercent: rapid.Uint32().Draw(t, "multiplier"), JitterPercent: rapid.Uint32().Draw(t, "jitter"),
	}
}

func drawExtras(t *rapid.T) *queue.Extras {
	if rapid.Bool().Draw(t, "plain") {
		return nil
	}
	return queue.NewExtras(queue.Extras{
		ExpiresAtMs: rapid.Int64().Draw(t, "expires"), Unique: drawUnique(t), Group: rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}).Draw(t, "group"),
	}, queue.Common{Backoff: drawBackoff(t), RetentionMs: rapid.Uint64().Draw(t, "retention")})
}

func (c *contents) look(ref queue.Ref) (out queue.Stored, found bool) {
	out.Ref = ref
	if out.Task, found = c.tasks[ref]; !found {
		return out, false
	}
	out.Bytes = uint32(len(out.Task.Payload))
	if out.Progress, out.HasProgress = c.progress[ref]; !out.HasProgress {
		return out, true
	}
	for _, lane := range []uint8{queue.DelayedLane(ref.Priority), ref.Priority} { // the last one found
		if _, found := c.due[dueRef{timedRef{ref, out.Progress.DueAtMs}, lane}]; found {
			out.HasDue, out.Lane = true, lane
		}
	}
	_, out.Dead = c.dead[ref]
	return out, true
}

func compareDue(a, b dueRef) int {
	return cmp.Or(cmp.Compare(a.ref.Queue, b.ref.Queue), cmp.Compare(a.lane, b.lane), cmp.Compare(a.ms, b.ms), cmp.Compare(a.ref.Seq, b.ref.Seq))
}

func sorted[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

// compare reads the whole store through each of its read methods and requires the content of the
// model.
func (c *contents) compare(t *rapid.T, s *Store) {
	for ref := range c.ever {
		want, found := c.look(ref)
		got, ok, err := s.look(s.live(), ref, true)
		require.NoError(t, err)
		require.Equal(t, found, ok)
		require.Equal(t, want, got)
		want.Task.Payload = nil
		got, ok, err = s.LookHead(ref)
		require.NoError(t, err)
		require.Equal(t, found, ok)
		require.Equal(t, want, got)
		require.Equal(t, found, c.compareTask(t, s, ref))
	}
	c.compareRefills(t, s)
	c.compareExpired(t, s)
	c.compareLists(t, s)
	c.compareFinished(t, s)
	c.compareBuckets(t, s)
	c.compareUniques(t, s)
	c.compareRecovered(t, s)
}

func (c *contents) compareTask(t *rapid.T, s *Store, ref queue.Ref) (found bool) {
	task, found, err := s.Task(ref)
	require.NoError(t, err)
	require.Equal(t, c.tasks[ref], task)
	p, has, err := s.progressOf(ref)
	require.NoError(t, err)
	want, wanted := c.progress[ref]
	require.Equal(t, wanted, has)
	require.Equal(t, want, p)
	d, has, err := s.deadRecord(ref)
	require.NoError(t, err)
	wantDead, wanted := c.dead[ref]
	require.Equal(t, wanted, has)
	require.Equal(t, wantDead, d)
	for _, n := range []uint32{0, 1, 2, attemptDeletesMax, attemptDeletesMax + 1, 255, 256} {
		text, err := s.LastError(StepOther, ref, n)
		require.NoError(t, err)
		require.Equal(t, c.attempts[ref][n].Error, text)
	}
	return found
}

func (c *contents) compareRefills(t *rapid.T, s *Store) {
	r := queue.Refill{
		Queue: rapid.SampledFrom(someQueues).Draw(t, "of queue"), Lane: drawLane(t, rapid.SampledFrom(somePrios).Draw(t, "of priority")),
		FromSeq: rapid.SampledFrom(someSeqs).Draw(t, "from seq"), FromMs: rapid.SampledFrom(append(someMs, math.MinInt64)).Draw(t, "from ms"),
		Limit: rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	if r.Lane <= queue.MaxPriority {
		c.compareFresh(t, s, r)
	}
	c.compareCounts(t, s, r)

	var returned []queue.SeqDue
	from := dueRef{timedRef{queue.Ref{Queue: r.Queue, Seq: r.FromSeq}, r.FromMs}, r.Lane}
	for _, at := range sorted(c.due, compareDue) {
		if at.ref.Queue == r.Queue && at.lane == r.Lane && compareDue(at, from) >= 0 {
			returned = append(returned, queue.SeqDue{Seq: at.ref.Seq, Due: c.due[at]})
		}
	}
	gotReturned, more, err := s.Returned(r)
	require.NoError(t, err)
	require.Equal(t, len(returned) >= r.Limit, more)
	require.Equal(t, returned[:min(len(returned), r.Limit)], gotReturned)
}

// compareFresh reads a lane from a drawn position to its end, with bounds that may end a refill at
// any task.
func (c *contents) compareFresh(t *rapid.T, s *Store, r queue.Refill) {
	r.BytesMax = rapid.SampledFrom([]int64{0, 1, 30}).Draw(t, "bytes max")
	r.LookMax = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "look at most")
	r.PayloadBytesMax = rapid.SampledFrom([]int64{0, 3, 1_000}).Draw(t, "payload bytes max")
	r.UntilSeq = rapid.SampledFrom([]uint64{0, 1, 2, 5}).Draw(t, "until seq")
	var want, got []queue.SeqTask
	for _, ref := range sorted(c.tasks, compareRefs) {
		if _, touched := c.progress[ref]; ref.Queue == r.Queue && ref.Priority == r.Lane && ref.Seq >= r.FromSeq && (r.UntilSeq == 0 || ref.Seq < r.UntilSeq) && !touched && !c.tasks[ref].Delayed {
			want = append(want, queue.SeqTask{Seq: ref.Seq, Task: c.tasks[ref], Bytes: uint32(len(c.tasks[ref].Payload))})
		}
	}
	for r.FromSeq < math.MaxUint64 {
		tasks, nextSeq, err := s.Fresh(r)
		require.NoError(t, err)
		require.Greater(t, nextSeq, r.FromSeq)
		require.LessOrEqual(t, len(tasks), r.Limit)
		kept := int64(0)
		for i := range tasks {
			task := &tasks[i]
			require.Less(t, task.Seq, nextSeq)
			kept += int64(len(task.Task.Payload))
			if room := kept + int64(task.Bytes); task.Task.Payload == nil && room > r.PayloadBytesMax {
				task.Task.Payload = c.tasks[queue.Ref{Queue: r.Queue, Priority: r.Lane, Seq: task.Seq}].Payload
			}
		}
		require.LessOrEqual(t, kept, r.PayloadBytesMax)
		got = append(got, tasks...)
		r.FromSeq = nextSeq
	}
	require.Equal(t, want, got)
}

// compareCounts counts a lane's Due records up to a time, and backwards to those after that time.
func (c *contents) compareCounts(t *rapid.T, s *Store, r queue.Refill) {
	r.UntilMs = rapid.SampledFrom(someMs).Draw(t, "until ms")
	r.FromMs = rapid.SampledFrom(someMs).Draw(t, "from ms")
	from := dueRef{timedRef{queue.Ref{Queue: r.Queue, Seq: r.FromSeq}, r.FromMs}, r.Lane}
	var after, before []dueRef // all from the position on; those before it that are not due
	for _, at := range sorted(c.due, compareDue) {
		switch {
		case at.ref.Queue != r.Queue || at.lane != r.Lane:
		case compareDue(at, from) >= 0:
			after = append(after, at)
		case at.ms > r.UntilMs:
			before = append(before, at)
		}
	}
	due := 0
	for due < len(after) && after[due].ms <= r.UntilMs {
		due++
	}
	n := min(due, r.Limit)
	want := counted{tasks: dueKeys(after[:n]), next: queue.DueKey{AtMs: math.MaxInt64, Seq: math.MaxUint64}, more: due > r.Limit}
	if n < len(after) {
		want.next = dueKeys(after)[n]
	}
	r.Stream = queue.StreamDue
	require.Equal(t, want, countDue(t, s, r))

	slices.Reverse(before)
	n = min(len(before), r.Limit)
	want = counted{tasks: dueKeys(before[:n]), next: queue.DueKey{AtMs: r.FromMs, Seq: r.FromSeq}, more: n < len(before)}
	if n > 0 {
		want.next = want.tasks[n-1]
	}
	r.Stream = queue.StreamNotDue
	require.Equal(t, want, countDue(t, s, r))
}

type counted struct {
	tasks []queue.DueKey
	next  queue.DueKey
	more  bool
}

func dueKeys(all []dueRef) (out []queue.DueKey) {
	for _, at := range all {
		out = append(out, queue.DueKey{AtMs: at.ms, Seq: at.ref.Seq})
	}
	return out
}

func countDue(t *rapid.T, s *Store, r queue.Refill) (c counted) {
	var err error
	c.tasks, c.next, c.more, err = s.CountDue(r)
	require.NoError(t, err)
	return c
}

func (c *contents) compareExpired(t *rapid.T, s *Store) {
	now, limit := rapid.SampledFrom(append(someMs, 0)).Draw(t, "now"), rapid.IntRange(0, 4).Draw(t, "limit")
	bytesMax, bytes := rapid.SampledFrom([]int64{0, 1, 5}).Draw(t, "bytes max"), int64(0)
	var want []queue.Expired
	next := int64(math.MaxInt64)
	for _, at := range sorted(c.expiries, func(a, b timedRef) int {
		return cmp.Or(cmp.Compare(a.ms, b.ms), compareRefs(a.ref, b.ref))
	}) {
		if at.ms > now || len(want) >= limit || bytesMax > 0 && bytes >= bytesMax {
			next = at.ms
			break
		}
		e := queue.Expired{AtMs: at.ms}
		e.Stored, e.Found = c.look(at.ref)
		e.Task.Payload = nil // it is not read
		bytes += int64(e.Bytes)
		want = append(want, e)
	}
	got, gotNext, err := s.Expired(now, limit, bytesMax)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, next, gotNext)
}

func (c *contents) compareBuckets(t *rapid.T, s *Store) {
	live := slices.Clone(someMs) // buckets that a state may know: more than exist, and not all
	if rapid.Bool().Draw(t, "not all buckets") {
		live = live[1:4]
	}
	b := s.NewBatch()
	for _, q := range someQueues {
		for _, key := range someKeys {
			var want queue.KeyRef
			found := false
			for _, bucket := range live {
				if k, ok := c.keys[bucketKey{bucket, q, key}]; ok && (!found || k.ExpiresAtMs > want.ExpiresAtMs) {
					want, found = k, true
				}
			}
			got, ok := b.FindKey(q, key, live)
			require.Equal(t, found, ok)
			require.Equal(t, want, got)
			bucket := rapid.SampledFrom(live).Draw(t, "bucket of a key")
			_, has := c.keys[bucketKey{bucket, q, key}]
			require.Equal(t, has, b.HasKey(q, key, bucket))
		}
	}
	for ref := range c.ever {
		var want queue.Result
		found := false
		for _, bucket := range live {
			if r, ok := c.results[timedRef{ref, bucket}]; ok {
				want, found = r, true
				break
			}
		}
		got, ok, err := s.Result(ref, live)
		require.NoError(t, err)
		require.Equal(t, found, ok)
		require.Equal(t, want, got)
	}
}

func (c *contents) compareRecovered(t *rapid.T, s *Store) {
	got, err := s.Recover()
	require.NoError(t, err)
	want := queue.Recovered{Meta: c.meta, NextExpiryMs: math.MaxInt64, Recurring: c.recoveredRecurring()}
	for at := range c.expiries {
		want.NextExpiryMs = min(want.NextExpiryMs, at.ms)
	}
	for k := range c.keys {
		want.KeyBuckets = append(want.KeyBuckets, k.bucket)
	}
	for _, k := range c.uniques {
		want.UniqueBuckets = append(want.UniqueBuckets, k.Bucket)
	}
	for k := range c.results {
		want.ResultBuckets = append(want.ResultBuckets, k.ms)
	}
	for _, buckets := range []*[]int64{&want.KeyBuckets, &want.UniqueBuckets, &want.ResultBuckets} {
		slices.Sort(*buckets)
		*buckets = slices.Compact(*buckets)
	}
	for _, s := range slices.SortedFunc(maps.Keys(c.sums), func(a, b queue.Sum) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Tenant, b.Tenant))
	}) {
		s.Bytes = c.sums[s]
		want.Sums = append(want.Sums, s)
	}
	for _, id := range sorted(c.queues, cmp.Compare[uint32]) {
		want.Queues = append(want.Queues, c.queues[id])
	}
	for _, batch := range sorted(c.leases, cmp.Compare[uint64]) {
		refs := slices.Clone(c.leases[batch])
		var extended []int
		for i := range refs {
			if untilMs, is := c.extended[batch][i]; is {
				refs[i].ExpiresAtMs = untilMs
				extended = append(extended, i)
			}
			_, stored := c.tasks[refs[i].Ref]
			if p, has := c.progress[refs[i].Ref]; !stored || has && p.Token >= queue.Token(batch, i) {
				refs[i].Attempt = 0
			}
			if refs[i].Attempt != 0 || stored && c.leases[batch][i].Attempt != 0 {
				refs[i].History, refs[i].NoteBytes = c.progress[refs[i].Ref].History, uint16(len(c.notes[refs[i].Ref]))
			}
		}
		want.Leases = append(want.Leases, queue.RecoveredLease{Batch: batch, Refs: refs, ClaimedMs: c.claimed[batch], Extended: extended})
	}
	require.Equal(t, want, got)

	system, err := s.System()
	require.NoError(t, err)
	var wantSystem []SystemRecord
	for _, key := range sorted(c.system, cmp.Compare[string]) {
		wantSystem = append(wantSystem, SystemRecord{key, c.system[key]})
	}
	require.Equal(t, wantSystem, system)

	c.compareAudit(t, s, want)
}

// compareAudit compares the result of an audit. The model is not a consistent store: a task that is
// neither delayed, leased nor dead counts as ready, and the counters are zero.
func (c *contents) compareAudit(t *rapid.T, s *Store, from queue.Recovered) {
	now := rapid.SampledFrom(someMs).Draw(t, "audit at")
	audited, err := s.Audit(now)
	require.NoError(t, err)
	require.Len(t, audited, len(from.Queues))
	for i, a := range audited {
		want := AuditedQueue{Record: from.Queues[i]}
		due := uint64(0)
		for ref := range c.tasks {
			if ref.Queue == a.ID {
				want.Stored++
			}
		}
		for ref := range c.dead {
			if ref.Queue == a.ID {
				want.Found.Dead++
			}
		}
		for at := range c.due {
			switch {
			case at.ref.Queue != a.ID:
			case at.ms <= now:
				due++
			default:
				want.Found.Delayed++
			}
		}
		for _, l := range from.Leases {
			for _, ref := range l.Refs {
				if ref.Queue == a.ID && ref.Attempt != 0 {
					want.Found.Leased++
				}
			}
		}
		// The counters are zero and cover no due task.
		want.Counted = States{Ready: due, Delayed: -due}
		want.Found.Ready = want.Stored - min(want.Stored, want.Found.Delayed+want.Found.Leased+want.Found.Dead)
		require.Equal(t, want, a)
	}
}

func compareRefs(a, b queue.Ref) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Seq, b.Seq))
}
