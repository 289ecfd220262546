package route

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// batchItem is an item of a simulated batch. Its key is its index in the call.
type batchItem struct {
	key   int
	shard int // or anyShard
}

// batchResult is a node's result for the item with this key.
type batchResult struct {
	key    int
	serial int // the number of the result, unique over all nodes
	err    *queuepb.ItemError
}

type itemFate int

const (
	itemDone itemFate = iota
	itemNotLeader
	itemUnavailable
	itemStale
	itemUnknown
	itemFates
)

type callFate int

const (
	callAnswered callFate = iota
	callNotLeader
	callUnreached
	callCut // the connection breaks after the node has executed the call
	callRefused
	callUnknown
	callFailed // an error that is not a refusal
	callShort  // an answer with too few results
	callLong
	callFates
)

// batchCluster simulates nodes that answer batches according to a drawn plan. It implements Cluster
// for node n0.
type batchCluster struct {
	Cluster
	changes Changes

	items []batchItem
	calls map[string][]callFate // the outcomes of a node's first calls; later calls are answered
	fates map[int][]itemFate    // the outcomes of an item's first tries; later tries succeed
	moves map[int][]string      // the leader of an item's shard after each refusal of the item

	mu      sync.Mutex
	leaders []string
	made    map[int][]batchResult // by item: the results of nodes, including those of lost answers
	// Items with an unknown outcome, such as those in a call whose answer was lost.
	unsure map[int]bool
	serial int
}

func (c *batchCluster) Self() string { return "n0" }

func (c *batchCluster) Version() (uint64, <-chan struct{}) { return c.changes.Version() }

func (c *batchCluster) Outage() string { return "" }

func (c *batchCluster) Leader(i int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i < 0 || i >= len(c.leaders) {
		return ""
	}
	return c.leaders[i]
}

func (c *batchCluster) Member(node string) (Member, bool) {
	return Member{Node: node, Address: "at-" + node}, node != ""
}

// next removes and returns the next element of a plan, or returns its zero value.
func next[K comparable, V any](plan map[K][]V, k K) (v V, was bool) {
	if len(plan[k]) == 0 {
		return v, false
	}
	v, plan[k] = plan[k][0], plan[k][1:]
	return v, true
}

// refuse moves the leadership of an item's shard, and returns the new leader.
func (c *batchCluster) refuse(it batchItem) string {
	to, moved := next(c.moves, it.key)
	if moved && it.shard != AnyShard {
		c.leaders[it.shard] = to
	}
	return to
}

// call executes items at a node.
func (c *batchCluster) call(t *rapid.T) func(context.Context, *Target, []batchItem) ([]batchResult, error) {
	return func(_ context.Context, at *Target, items []batchItem) ([]batchResult, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		node := c.Self()
		if !at.Local() {
			node = at.forward.node
		}
		if !slices.IsSortedFunc(items, func(a, b batchItem) int { return a.key - b.key }) {
			t.Errorf("items %v are not in the call's order, which would break an ordered queue", items)
		}
		what, _ := next(c.calls, node)
		if at.Local() && (what == callUnreached || what == callCut) {
			what = callAnswered
		}
		switch what {
		case callNotLeader:
			for _, it := range items {
				c.refuse(it)
			}
			return nil, call.Status(&shard.NotLeaderError{})
		case callUnreached:
			return nil, status.Error(codes.Unavailable, "no connection")
		case callRefused:
			for _, it := range items {
				c.note(t, it, &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED})
			}
			return nil, call.Status(shard.ErrOverloaded)
		}
		if !at.Local() {
			at.forward.sent = true
		}
		if what != callAnswered { // the call may have taken effect
			for _, it := range items {
				c.unsure[it.key] = true
			}
		}
		switch what {
		case callCut:
			return nil, status.Error(codes.Unavailable, "the connection broke")
		case callUnknown:
			return nil, call.Status(shard.ErrUnknownOutcome)
		case callFailed:
			return nil, status.Error(codes.Internal, "the disk failed")
		}
		results := make([]batchResult, 0, len(items)+1)
		for _, it := range items {
			results = append(results, c.one(t, it))
		}
		switch what {
		case callShort:
			results = results[1:]
		case callLong:
			results = slices.Insert(results, 0, batchResult{key: -1})
		}
		return results, nil
	}
}

func (c *batchCluster) one(t *rapid.T, it batchItem) batchResult {
	switch what, _ := next(c.fates, it.key); what {
	case itemNotLeader:
		e := &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER}
		if to := c.refuse(it); to != "" {
			e.Leader = "at-" + to
		}
		return batchResult{key: it.key, err: e}
	case itemUnavailable:
		c.refuse(it)
		return batchResult{key: it.key, err: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE}}
	case itemStale:
		return c.note(t, it, &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN})
	case itemUnknown:
		c.unsure[it.key] = true
		return c.note(t, it, &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME})
	}
	return c.note(t, it, nil)
}

// note records a node's final result of an item.
func (c *batchCluster) note(t *rapid.T, it batchItem, e *queuepb.ItemError) batchResult {
	if len(c.made[it.key]) > 0 {
		t.Errorf("item %d was sent again although a node had settled it: %v", it.key, c.made[it.key])
	}
	c.serial++
	r := batchResult{key: it.key, serial: c.serial, err: e}
	c.made[it.key] = append(c.made[it.key], r)
	return r
}

// Every item of a batch gets the result that a node produced for that item, whatever the parts,
// refusals and retries. An item that no node accepted has an error. An item that may have taken
// effect is not sent again. Nodes receive items in the call's order.
func TestBatchResultsAreOfTheirItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Hides Deadline, which a *testing.T does not support in a synctest bubble.
		rapid.Check(struct{ rapid.TB }{t}, checkBatch)
	})
}

func checkBatch(t *rapid.T) {
	shards := rapid.SampledFrom([]int{1, 2, 3, 4}).Draw(t, "shards")
	node := rapid.SampledFrom([]string{"n0", "n1", "n2", "n3"})
	maybeNode := rapid.SampledFrom([]string{"n0", "n1", "n2", "n3", ""})
	c := &batchCluster{
		calls: map[string][]callFate{}, fates: map[int][]itemFate{}, moves: map[int][]string{},
		leaders: rapid.SliceOfN(maybeNode, shards, shards).Draw(t, "leaders"),
		made:    map[int][]batchResult{}, unsure: map[int]bool{},
	}
	// If all items are refused at first and then all belong to one node, that node's part is the
	// whole batch, possibly in a different order from the call's.
	gathered := rapid.SliceOfN(node, rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "rounds"), 2).Draw(t, "gathered")
	anywhere := rapid.IntRange(0, 3).Draw(t, "anywhere") == 0
	for key := range rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "items") {
		it := batchItem{key: key, shard: AnyShard}
		if !anywhere {
			it.shard = rapid.IntRange(0, shards-1).Draw(t, "shard")
		}
		c.items = append(c.items, it)
		c.fates[key] = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, int(itemFates)-1), func(i int) itemFate { return itemFate(i) }), 0, 4).Draw(t, "fates")
		c.moves[key] = rapid.SliceOfN(node, 0, 4).Draw(t, "moves")
		if len(gathered) > 0 && rapid.IntRange(0, 9).Draw(t, "skip") < 9 {
			c.fates[key] = append(slices.Repeat([]itemFate{itemNotLeader}, len(gathered)), c.fates[key]...)
			c.moves[key] = append(slices.Clone(gathered), c.moves[key]...)
		}
	}
	for _, n := range []string{"n0", "n1", "n2", "n3"} {
		c.calls[n] = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 4*int(callFates)), func(i int) callFate {
			if i >= int(callFates) {
				return callAnswered
			}
			return callFate(i)
		}), 0, 4).Draw(t, "calls of "+n)
	}
	sent := slices.Clone(c.items)
	results, err := Spread(context.Background(), newRouter(c, shards), &Batch[batchItem, batchResult]{
		Shard:   func(it batchItem) int { return it.shard },
		Call:    c.call(t),
		ErrorOf: func(r batchResult) *queuepb.ItemError { return r.err },
		Refused: func(e *queuepb.ItemError) batchResult { return batchResult{key: -1, err: e} },
	}, sent)
	require.Equal(t, c.items, sent, "the caller's items")
	if err != nil { // the error refuses all items
		for _, it := range c.items {
			if c.unsure[it.key] {
				require.Contains(t, []codes.Code{codes.Aborted, codes.Internal}, status.Code(err), "item %d may have taken effect: %v", it.key, err)
				continue
			}
			for _, made := range c.made[it.key] {
				require.NotNil(t, made.err, "item %d took effect, and its batch was refused: %v", it.key, err)
			}
		}
		return
	}
	require.Len(t, results, len(c.items))
	for i, r := range results {
		checkBatchResult(t, c, c.items[i], r)
	}
}

func checkBatchResult(t *rapid.T, c *batchCluster, it batchItem, r batchResult) {
	what := fmt.Sprintf("item %d: result %+v; the nodes made %+v", it.key, r, c.made[it.key])
	if r.err != nil {
		require.EqualValues(t, it.key, r.err.GetIndex(), what)
	}
	switch {
	case r.key >= 0: // the result comes from a node
		require.Equal(t, it.key, r.key, what)
		require.Equal(t, []batchResult{r}, c.made[it.key], what)
	case c.unsure[it.key]:
		require.Equal(t, queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, r.err.GetCode(), what)
	default: // the result does not come from a node: no node executed the item
		require.NotNil(t, r.err, what)
		for _, made := range c.made[it.key] {
			require.Equal(t, made.err.GetCode(), r.err.GetCode(), what)
		}
	}
}
