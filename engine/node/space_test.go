package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/internal/quotafstest"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

const (
	spaceMiB      = 1 << 20
	spacePatience = waittest.Most
	spaceLooks    = 100 * time.Millisecond // the interval between checks of the disk
	spaceTask     = 256 << 10              // bytes of a task
)

// spaceNode is a server with a disk of 400 MiB and marks at 150 and 75 MiB.
type spaceNode struct {
	*testing.T

	ctx    context.Context
	disk   *quotafstest.FS
	config Config
	node   *Node
	client *client.Client
	admin  *client.Admin
}

func spaceConfig(dir string, fs vfs.FS, d storage.Durability) Config {
	return Config{
		DataDir: dir, Listen: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Durability: d, Shards: 4, fs: fs,
		DiskLow: storage.SpaceMark{Set: true, Bytes: 150 * spaceMiB}, DiskCritical: storage.SpaceMark{Set: true, Bytes: 75 * spaceMiB},
	}
}

func newSpaceNode(t *testing.T, d storage.Durability) *spaceNode {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	s := &spaceNode{T: t, ctx: ctx, disk: quotafstest.New(vfs.NewMem(), 400*spaceMiB)}
	s.config = spaceConfig(t.TempDir(), s.disk, d)
	require.NoError(t, s.disk.MkdirAll(s.config.DataDir, 0o700))
	s.open()
	t.Cleanup(func() {
		s.close()
		cancel()
	})
	return s
}

func (s *spaceNode) open() {
	s.Helper()
	var err error
	s.node, err = Open(s.config)
	require.NoError(s, err)
	s.client, err = client.Dial(s.node.Addresses()[0])
	require.NoError(s, err)
	s.admin, err = client.DialAdmin(s.node.Admin())
	require.NoError(s, err)
}

func (s *spaceNode) close() {
	s.Helper()
	require.NoError(s, s.client.Close())
	require.NoError(s, s.admin.Close())
	require.NoError(s, s.node.Shutdown(s.ctx))
}

func (s *spaceNode) wait(n *Node, want disk.SpaceState) {
	s.Helper()
	require.Eventually(s, func() bool { return n.space.State() == want }, spacePatience, 5*time.Millisecond, "the disk is %v, with %+v", n.space.State(), n.space.Usage())
}

// spacePayload returns incompressible bytes.
func spacePayload(seed uint64) []byte {
	out := make([]byte, spaceTask)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	_, _ = r.Read(out)
	return out
}

// requireDisk checks that a call was refused for lack of space.
func requireDisk(t *testing.T, err error) {
	t.Helper()
	s := status.Convert(err)
	require.Equal(t, codes.ResourceExhausted, s.Code(), "%v", err)
	require.Contains(t, s.Message(), "disk: ")
	var reason string
	var retry time.Duration
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason = d.GetReason()
		case *errdetails.RetryInfo:
			retry = d.GetRetryDelay().AsDuration()
		}
	}
	require.Equal(t, "disk", reason)
	require.Equal(t, disk.SpaceRetry, retry)
}

// fill enqueues until the server refuses, and returns the IDs of the acknowledged tasks.
func fill(ctx context.Context, t *testing.T, c *client.Client, queue string) (ids []string) {
	t.Helper()
	for i := uint64(0); ; i++ {
		out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: queue, Payload: spacePayload(i)}}})
		if err != nil {
			requireDisk(t, err)
			return ids
		}
		if e := out.GetResults()[0].GetError(); e != nil {
			require.Equal(t, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, e.GetCode(), "%v", e)
			return ids
		}
		ids = append(ids, out.GetResults()[0].GetId())
		require.Less(t, len(ids), 1600, "more tasks than the disk can store")
	}
}

// The disk is filled through the API, with each durability. Acknowledged tasks remain, commands
// that shrink the store continue, no write fails, and service resumes without intervention.
func TestAFullDiskIsRefusedBeforeItIsFull(t *testing.T) {
	t.Parallel()
	for _, d := range []storage.Durability{storage.Sync, storage.Interval, storage.None} {
		t.Run(string(d), func(t *testing.T) {
			if d != storage.Sync {
				longtest.Only(t)
			}
			s := newSpaceNode(t, d)
			ids := s.fillUp()
			t.Logf("%d tasks of 256 KiB, %d MiB used", len(ids), s.disk.Used()/spaceMiB)
			require.Zero(t, s.disk.Refused(), "no write found the disk full")
			s.disk.Pin(120 * spaceMiB) // background writes must not change the state in between
			s.lowOverEachAPI()
			s.disk.Occupy(0)

			claimed, err := s.client.API().Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 4, LeaseMs: 3600_000})
			require.NoError(t, err)
			require.NotEmpty(t, claimed.GetTasks())
			var completions []*queuepb.Completion
			gone := map[string]bool{}
			for _, task := range claimed.GetTasks() {
				completions = append(completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken()})
				gone[task.GetId()] = true
			}
			done, err := s.client.API().Complete(s.ctx, &queuepb.CompleteRequest{Completions: completions})
			require.NoError(t, err)
			for _, r := range done.GetResults() {
				require.Nil(t, r.GetError())
			}
			half := ids[:len(ids)/2]
			for chunk := range slices.Chunk(half, 100) {
				cancelled, err := s.admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: chunk})
				require.NoError(t, err)
				for i, r := range cancelled.GetResults() {
					if !gone[chunk[i]] {
						require.Nil(t, r.GetError())
					}
					gone[chunk[i]] = true
				}
			}
			s.wait(s.node, disk.SpaceOK) // without intervention: deleted space is reclaimed
			gone[s.critical(ids[len(ids)-1])] = true

			s.close()
			s.open()
			left := 0
			for _, id := range ids {
				_, err := s.client.API().GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
				if gone[id] {
					require.Equal(t, codes.NotFound, status.Code(err))
				} else {
					require.NoError(t, err)
					left++
				}
			}
			require.Equal(t, len(ids)-len(gone), left)
			_, err = s.client.API().Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
			require.NoError(t, err)
			require.Zero(t, s.disk.Refused(), "no write found the disk full")
		})
	}
}

// A server starts on a full disk with the space of the ballast, which is enough for the tables of
// all memtables.
func TestTheBallastHasRoomForAllMemtables(t *testing.T) {
	s := newSpaceNode(t, storage.Sync)
	require.EqualValues(t, 75*spaceMiB, s.node.space.Ballast(), "the critical mark")
	need := s.node.shares.LoggedBytes(s.config.Shards, false) + startRoom
	require.LessOrEqual(t, need, int64(75*spaceMiB))
	require.Greater(t, need, int64(70*spaceMiB), "the memtables use the room")

	large := s.config
	large.DataDir, large.DiskLow, large.DiskCritical = t.TempDir(), storage.SpaceMark{}, storage.SpaceMark{}
	large.fs = quotafstest.New(vfs.NewMem(), 100<<30)
	require.NoError(t, large.fs.MkdirAll(large.DataDir, 0o700))
	n, err := Open(large)
	require.NoError(t, err)
	require.EqualValues(t, n.shares.LoggedBytes(large.Shards, false)+startRoom, n.space.Ballast())
	require.Equal(t, memory.SharesOf(n.shares.Total, large.Shards, false).MemTableBytes, n.shares.MemTableBytes, "a large disk bounds nothing")
	require.NoError(t, n.Shutdown(s.ctx))
}

// fillUp fills the disk until the server refuses tasks although its memtables are flushed.
func (s *spaceNode) fillUp() (ids []string) {
	s.Helper()
	for {
		ids = append(ids, fill(s.ctx, s.T, s.client, "q")...)
		for _, store := range s.node.stores {
			require.NoError(s, store.Flush())
		}
		select { // the watch checks the disk in between
		case <-time.After(5 * spaceLooks):
		case <-s.ctx.Done():
		}
		if s.node.space.State() == disk.SpaceLow {
			return ids
		}
	}
}

// lowOverEachAPI checks a refusal over REST, on a stream and in the Go client, and that the server
// reports the state.
func (s *spaceNode) lowOverEachAPI() {
	s.Helper()
	s.wait(s.node, disk.SpaceLow)
	out, err := http.Post("http://"+s.node.HTTP()+"/v1/tasks:enqueue", "application/json", strings.NewReader(`{"tasks":[{"queue":"q"}]}`)) //nolint:noctx // the client's own time-out is enough
	require.NoError(s, err)
	require.NoError(s, out.Body.Close())
	assert.Equal(s, http.StatusTooManyRequests, out.StatusCode)
	assert.Equal(s, "1", out.Header.Get("Retry-After"))

	p, err := s.client.Producer(s.ctx, "")
	require.NoError(s, err)
	for range 2 { // the stream continues
		_, err = p.Enqueue(s.ctx, client.Task{Queue: "q"})
		require.ErrorIs(s, err, client.ErrOverloaded)
		var refused *client.Error
		require.ErrorAs(s, err, &refused)
		assert.Equal(s, disk.SpaceRetry, refused.RetryAfter)
		assert.Contains(s, refused.Message, "--disk-low")
	}
	require.NoError(s, p.Close(s.ctx))
	s.says(disk.SpaceLow, "1")
}

// says checks that probes, metrics, health and status report the disk's state. The server stays
// ready.
func (s *spaceNode) says(state disk.SpaceState, metric string) {
	s.Helper()
	code, body := ask(s.T, s.node.Admin(), "/readyz")
	assert.Equal(s, http.StatusOK, code)
	assert.Contains(s, string(body), "disk: ")
	health, err := s.node.health.Check(s.ctx, &healthpb.HealthCheckRequest{Service: diskService})
	require.NoError(s, err)
	assert.Equal(s, healthpb.HealthCheckResponse_NOT_SERVING, health.GetStatus())
	figures := scrape(s.T, s.node)
	assert.Equal(s, metric, figures["prony_disk_state"])
	assert.NotEqual(s, "0", figures[fmt.Sprintf(`prony_disk_refusals_total{mark=%q}`, state)])
	assert.NotEqual(s, "0", figures["prony_disk_free_bytes"])
	got, err := s.admin.GetStatus(s.ctx, &adminpb.GetStatusRequest{})
	require.NoError(s, err)
	assert.True(s, got.GetReady())
	assert.Equal(s, cluster.DiskState(state), got.GetDisk().GetState())
	assert.EqualValues(s, 150*spaceMiB, got.GetDisk().GetLowBytes())
	assert.Contains(s, got.GetDisk().GetReason(), "disk: ")
}

// critical simulates another program that uses the space below the critical mark, restarts the
// server in that state, and frees the space. It returns a task that it completed.
func (s *spaceNode) critical(id string) (completed string) {
	s.Helper()
	claimed, err := s.client.API().Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1, LeaseMs: 3600_000})
	require.NoError(s, err)
	require.Len(s, claimed.GetTasks(), 1)
	s.disk.Pin(60 * spaceMiB)
	s.wait(s.node, disk.SpaceCritical)
	refusesAll := func() {
		s.Helper()
		_, err := s.client.API().Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
		requireDisk(s.T, err)
		_, err = s.client.API().Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 10_000})
		requireDisk(s.T, err)
		done, err := s.client.API().Complete(s.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: claimed.GetTasks()[0].GetId(), Token: claimed.GetTasks()[0].GetToken()}}})
		require.NoError(s, err)
		require.Equal(s, queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, done.GetResults()[0].GetError().GetCode())
		require.Contains(s, done.GetResults()[0].GetError().GetMessage(), "--disk-critical")
		found, err := s.client.API().GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
		require.NoError(s, err)
		require.Len(s, found.GetTask().GetPayload(), spaceTask)
		_, err = s.admin.ListQueues(s.ctx, &adminpb.ListQueuesRequest{})
		require.NoError(s, err)
	}
	refusesAll()
	s.says(disk.SpaceCritical, "2")
	s.close()
	s.open() // the server starts and can read
	s.wait(s.node, disk.SpaceCritical)
	refusesAll()
	s.disk.Occupy(0)
	s.wait(s.node, disk.SpaceOK)
	done, err := s.client.API().Complete(s.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: claimed.GetTasks()[0].GetId(), Token: claimed.GetTasks()[0].GetToken()}}})
	require.NoError(s, err)
	require.Nil(s, done.GetResults()[0].GetError(), "the lease is still active")
	return claimed.GetTasks()[0].GetId()
}
