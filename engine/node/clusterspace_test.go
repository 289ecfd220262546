package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/internal/quotafstest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// bounded is a cluster of three nodes, each with a disk of 400 MiB and marks at 150 and 75 MiB.
type bounded struct {
	*timed

	ctx   context.Context
	disks map[string]*quotafstest.FS
	acked []string // IDs of acknowledged tasks
}

func newBounded(t *testing.T, d storage.Durability, shards int) *bounded {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	b := &bounded{ctx: ctx, disks: map[string]*quotafstest.FS{}}
	configure := func(id string, c *Config) {
		if b.disks[id] == nil {
			b.disks[id] = quotafstest.New(vfs.NewMem(), 400*spaceMiB)
			require.NoError(t, b.disks[id].MkdirAll(c.DataDir, 0o700))
		}
		marks := spaceConfig(c.DataDir, b.disks[id], d)
		c.fs, c.DiskLow, c.DiskCritical, c.Durability, c.Shards = marks.fs, marks.DiskLow, marks.DiskCritical, d, shards
	}
	b.timed = newConfigured(t, configure, 0, 0, 0)
	b.until(func() bool { return len(b.leaders()) == shards }, "each shard has a leader")
	return b
}

// until waits for a condition that may need several rounds of reclaiming space.
func (b *bounded) until(ok func() bool, what string, args ...any) {
	b.Helper()
	require.Eventually(b, ok, spacePatience, 5*time.Millisecond, append([]any{what}, args...)...)
}

// admin makes an admin call to a node.
func (b *bounded) admin(id string, call func(*client.Admin) error) error {
	b.Helper()
	c, err := client.DialAdmin(b.nodes[id].Admin())
	if err != nil {
		return err
	}
	return errors.Join(call(c), c.Close())
}

// leaders returns the leaders by shard.
func (b *bounded) leaders() map[int]string {
	out := map[int]string{}
	for id, n := range b.nodes {
		if n != nil {
			for _, i := range n.shards.Led() {
				out[i] = id
			}
		}
	}
	return out
}

// pin sets the remaining space on the disks of nodes, and waits until they notice.
func (b *bounded) pin(mebibytes uint64, want disk.SpaceState, ids ...string) {
	b.Helper()
	for _, id := range ids {
		b.disks[id].Pin(mebibytes * spaceMiB)
	}
	for _, id := range ids {
		b.until(func() bool { return b.nodes[id].space.Own() == want }, "node %s is %v", id, want)
	}
}

func (b *bounded) api(id string) queuepb.QueueServiceClient {
	return queuepb.NewQueueServiceClient(b.conns[id])
}

// enqueue stores a task through a node, or returns the error. Tasks with an unknown outcome are not
// checked later.
func (b *bounded) enqueue(id string, most time.Duration) error {
	ctx, cancel := context.WithTimeout(b.ctx, most)
	defer cancel()
	out, err := b.api(id).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Payload: []byte("payload")}}})
	if err != nil {
		return err
	}
	if e := out.GetResults()[0].GetError(); e != nil {
		if e.GetCode() == queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED {
			return status.Error(codes.ResourceExhausted, e.GetMessage())
		}
		return status.Error(codes.Unavailable, e.GetMessage())
	}
	b.acked = append(b.acked, out.GetResults()[0].GetId())
	return nil
}

func (b *bounded) accepts(id string) {
	b.Helper()
	b.until(func() bool { return b.enqueue(id, 10*time.Second) == nil }, "%s accepts tasks", id)
}

// refusesGrowth waits until a node refuses tasks for lack of space.
func (b *bounded) refusesGrowth(id string) {
	b.Helper()
	b.until(func() bool {
		err := b.enqueue(id, 2*time.Second)
		return status.Code(err) == codes.ResourceExhausted && strings.Contains(status.Convert(err).Message(), "disk: ")
	}, "%s refuses tasks", id)
}

// refusesWith waits until a leader refuses tasks because its only follower lacks space. It returns
// false if the leader loses leadership first.
func (b *bounded) refusesWith(leader, full string) (refuses bool) {
	b.Helper()
	b.until(func() bool {
		err := b.enqueue(leader, 2*time.Second)
		assert.Error(b, err, "a majority does not have it")
		refuses = status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "too few nodes have enough disk space: "+full)
		return refuses || b.leaders()[0] != leader
	}, "the leader refuses")
	return refuses
}

// holds checks that a node can read all acknowledged tasks.
func (b *bounded) holds(id string, gone ...string) {
	b.Helper()
	for _, task := range b.acked {
		if slices.Contains(gone, task) {
			continue
		}
		b.until(func() bool {
			_, err := b.api(id).GetTask(b.ctx, &queuepb.GetTaskRequest{Id: task})
			assert.NotEqual(b, codes.NotFound, status.Code(err), "task %s was acknowledged", task)
			return err == nil
		}, "%s reads task %s", id, task)
	}
}

// The disk of a leader fills up. It hands leadership over, and the cluster continues, also across a
// restart of the node, until the node has space again.
func TestANodeWithoutSpaceDoesNotLead(t *testing.T) {
	t.Parallel()
	b := newBounded(t, storage.None, 3)
	full := b.leaders()[0]
	others := b.others(full)
	b.accepts(full)
	b.pin(120, disk.SpaceLow, full)
	b.until(func() bool {
		leads := b.leaders()
		for i := range 3 {
			if leads[i] == "" || leads[i] == full {
				return false
			}
		}
		return true
	}, "the others lead all shards")
	for _, id := range b.ids {
		b.accepts(id) // also through the node without space
	}
	b.until(func() bool {
		said := false
		err := b.admin(others[0], func(c *client.Admin) error {
			out, err := c.GetCluster(b.ctx, &adminpb.GetClusterRequest{})
			i := slices.IndexFunc(out.GetMembers(), func(m *adminpb.ClusterMember) bool { return m.GetNode() == full })
			said = i >= 0 && out.GetMembers()[i].GetDiskState() == adminpb.DiskState_DISK_STATE_LOW
			return err
		})
		return err == nil && said
	}, "the cluster's status reports the full disk")

	b.stop(full)
	b.start(full)
	b.until(func() bool { return b.nodes[full].cluster.NotReady() == "" }, "%s is back", full)
	require.Equal(t, disk.SpaceLow, b.nodes[full].space.Own())
	b.accepts(full)
	require.Empty(t, b.nodes[full].shards.Led())

	b.disks[full].Occupy(0)
	b.until(func() bool { return len(b.nodes[full].shards.Led()) > 0 }, "%s leads again", full)
	b.holds(full)
}

// A follower's disk is exhausted. The other nodes continue without it. If it is the only follower,
// the leader acknowledges nothing and reports why. With space again, the follower catches up.
func TestAFollowerWithoutSpaceAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	b := newBounded(t, storage.None, 1)
	leader := b.leaders()[0]
	others := b.others(leader)
	full, third := others[0], others[1]
	b.accepts(leader)
	b.pin(20, disk.SpaceExhausted, full)
	last := func(id string) uint64 {
		s, err := b.nodes[id].cluster.Replicas()[0].Status()
		assert.NoError(b, err)
		return s.LastIndex
	}
	for range 20 {
		b.accepts(leader)
	}
	require.Greater(t, last(leader), last(full)+15, "the follower stores no entries")

	// A leader that loses leadership on a busy host does not regain it from the full follower
	// alone: the third node must return for that.
	b.stop(third)
	for !b.refusesWith(leader, full) {
		b.start(third)
		b.accepts(third)
		b.until(func() bool { return b.leaders()[0] == leader || b.leaders()[0] == third }, "a node with space leads")
		if leader != b.leaders()[0] {
			leader, third = third, leader
		}
		b.stop(third)
	}

	b.disks[full].Occupy(0)
	b.accepts(leader)
	b.until(func() bool { return last(full) == last(leader) }, "the follower catches up")
	b.start(third)
	b.accepts(third)
	b.holds(full)
}

// The disks of all nodes fill up. First, growth is refused, then every change, while reads
// continue, also after a restart of all nodes. With space again, service resumes without
// intervention, and nothing is lost.
func TestAClusterWithoutSpaceRefusesAndResumes(t *testing.T) {
	t.Parallel()
	for _, d := range []storage.Durability{storage.Sync, storage.Interval, storage.None} {
		t.Run(string(d), func(t *testing.T) {
			b := newBounded(t, d, 1)
			for range 6 {
				b.accepts("n1")
			}
			b.pin(120, disk.SpaceLow, b.ids...)
			b.refusesGrowth("n2")
			claim := func() *queuepb.Task {
				var task *queuepb.Task
				b.until(func() bool {
					out, err := b.api("n3").Claim(b.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, LeaseMs: 3600_000})
					if err != nil || len(out.GetTasks()) == 0 {
						return false
					}
					task = out.GetTasks()[0]
					return true
				}, "a task is claimed")
				return task
			}
			complete := func(task *queuepb.Task) queuepb.ErrorCode {
				out, err := b.api("n1").Complete(b.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}}})
				if err != nil {
					return queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE
				}
				return out.GetResults()[0].GetError().GetCode()
			}
			done, held := claim(), claim()
			require.Equal(t, queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED, complete(done))

			b.pin(60, disk.SpaceCritical, b.ids...)
			b.until(func() bool { return complete(held) == queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED }, "a completion is refused")
			b.holds("n2", done.GetId())
			for _, id := range b.ids {
				b.stop(id)
			}
			for _, id := range b.ids {
				b.start(id)
			}
			b.until(func() bool { return len(b.leaders()) == 1 }, "somebody leads")
			b.holds("n2", done.GetId())
			b.until(func() bool { return complete(held) == queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED }, "a completion is refused")

			for _, disk := range b.disks {
				disk.Occupy(0)
			}
			// If the leader changes during the call, the outcome is unknown: the task may be done.
			unknown := false
			b.until(func() bool {
				switch complete(held) {
				case queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED:
					return true
				case queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:
					return unknown
				case queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:
					unknown = true
				}
				return false
			}, "service resumes")
			b.accepts("n1")
			b.holds("n3", done.GetId(), held.GetId())
			for id, disk := range b.disks {
				require.Zero(t, disk.Refused(), "no write of %s found the disk full", id)
			}
		})
	}
}

// The disks of all nodes are filled through the API, and then purged.
func TestAClusterThatIsFilledRefuses(t *testing.T) {
	longtest.Only(t)
	b := newBounded(t, storage.None, 1)
	payload := func(i int) []byte { return spacePayload(uint64(i)) }
	stored := 0
	b.until(func() bool {
		for {
			out, err := b.api("n1").Enqueue(b.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Payload: payload(stored)}}})
			if err != nil { // also returned while no node leads
				return stored > 0 && status.Code(err) == codes.ResourceExhausted
			}
			if e := out.GetResults()[0].GetError(); e != nil {
				return e.GetCode() == queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED
			}
			stored++
			if !assert.Less(t, stored, 1600) {
				return false
			}
		}
	}, "the cluster refuses tasks")
	t.Logf("%d tasks of 256 KiB", stored)
	for id, disk := range b.disks {
		require.Zero(t, disk.Refused(), "no write of %s found the disk full", id)
	}
	b.until(func() bool {
		return b.admin("n1", func(c *client.Admin) error {
			_, err := c.PurgeQueue(b.ctx, &adminpb.PurgeQueueRequest{Queue: "q"})
			return err
		}) == nil
	}, "the queue is purged")
	b.accepts("n1") // once the purged space is reclaimed and the logs are cut
}
