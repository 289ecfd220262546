package peers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers"
)

// required is the environment variable that turns a missing server into a failure if it is not
// empty.
const required = "PRONY_PEERS_REQUIRED"

// patience bounds the waits of the tests. A passing test is much faster.
const patience = 3 * time.Minute

// each runs a test for each target, and skips targets that are not installed.
func each(t *testing.T, test func(t *testing.T, target program.Target, d program.Description)) {
	for _, target := range peers.Targets() {
		d := target.Describe(t.Context())
		t.Run(d.Name, func(t *testing.T) {
			if d.Missing != "" {
				if os.Getenv(required) != "" {
					require.Fail(t, "a server is missing", "%s, and %s is set", d.Missing, required)
				}
				t.Skip("NOT TESTED: " + d.Missing)
			}
			test(t, target, d)
		})
	}
}

func nodesOf(g program.Guarantee) int {
	if g == program.Majority || g == program.MajorityFsync {
		return 3
	}
	return 1
}

var queues = []program.Queue{{Tenant: "t0", Name: "q0"}, {Tenant: "t0", Name: "q1"}, {Tenant: "t1", Name: "q0"}}

// launch starts a target's servers, which end with all of their processes at the end of the test.
func launch(t *testing.T, target program.Target, name string, guarantee program.Guarantee, lease time.Duration) program.Server {
	server, err := target.Launch(t.Context(), program.LaunchSpec{
		Target: name, Folder: t.TempDir(), Guarantee: guarantee, Nodes: nodesOf(guarantee), Queues: queues, Batch: 64, Lease: lease,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		pids := server.PIDs()
		assert.NoError(t, server.Stop(context.Background()))
		for _, pid := range pids {
			assert.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d is left", pid)
		}
	})
	require.NotEmpty(t, server.PIDs())
	return server
}

func dial(t *testing.T, server program.Server) driver.Conn {
	conn, err := server.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

// Without faults, each task is completed once with its payload intact, for all sizes of batches and
// payloads, with workers that share a queue and one that claims from two.
func TestTasksAreCompletedOnce(t *testing.T) {
	each(t, func(t *testing.T, target program.Target, d program.Description) {
		for _, guarantee := range d.Guarantees {
			t.Run(string(guarantee), func(t *testing.T) {
				server := launch(t, target, d.Name, guarantee, time.Minute)
				l := newLoad(t)
				l.work(dial(t, server), "t0", []string{"q0", "q1"}, 1)
				l.work(dial(t, server), "t0", []string{"q0"}, 64)
				l.work(dial(t, server), "t0", []string{"q1"}, 7)
				l.work(dial(t, server), "t1", []string{"q0"}, 16)
				l.produce(dial(t, server), "t0", []string{"q0", "q1"}, 64, 4096, 3)
				l.produce(dial(t, server), "t0", []string{"q1"}, 1, 64, 50)
				l.produce(dial(t, server), "t1", []string{"q0"}, 16, 64, 5)
				l.finish()
				balance := l.ledger.Balance()
				assert.EqualValues(t, 3*64+50+5*16, balance.Enqueued)
				assert.Equal(t, balance.Enqueued, balance.Completed)
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Misrouted, balance.Samples)
				assert.Zero(t, l.ledger.Totals().CompletionsRefused)
			})
		}
	})
}

// returnsLate are targets that redeliver tasks of disconnected workers so late that the ledger
// calls them lost. River redelivers them with a service of the leading client, which took more than
// three minutes after the kill in one of two runs. Asynq takes up to 90 s.
var returnsLate = map[string]bool{"river": true, "asynq": true}

// Everything that was acknowledged after an fsync survives kill -9 of all servers, and connections
// recover automatically.
func TestAKillLosesNothingAcknowledged(t *testing.T) {
	longtest.Only(t) // the recovery time of other servers is unbounded
	each(t, func(t *testing.T, target program.Target, d program.Description) {
		if returnsLate[d.Name] {
			t.Skip("NOT TESTED: its redelivery after a kill is too late to be distinguished from a loss")
		}
		for _, guarantee := range d.Guarantees {
			if guarantee != program.Fsync && guarantee != program.MajorityFsync {
				continue
			}
			t.Run(string(guarantee), func(t *testing.T) {
				server := launch(t, target, d.Name, guarantee, 3*time.Second)
				l := newLoad(t)
				l.work(dial(t, server), "t0", []string{"q0"}, 8)
				l.work(dial(t, server), "t0", []string{"q0"}, 1)
				l.keepProducing(dial(t, server), "t0", []string{"q0"}, 4, 64)
				l.keepProducing(dial(t, server), "t0", []string{"q0"}, 1, 64)
				l.awaitCompleted(100)
				before := server.PIDs()
				require.NoError(t, server.Kill(t.Context()))
				require.Nil(t, server.PIDs())
				require.NoError(t, server.Restart(t.Context()))
				require.NotEqual(t, before, server.PIDs())
				l.awaitCompleted(l.ledger.Totals().Completed + 100)
				l.finish()
				balance := l.ledger.Balance()
				assert.Zero(t, balance.Lost+balance.Corrupted+balance.Misrouted, balance.Samples)
				t.Logf("%s, %s: %d enqueued, %d completed, %d of them again; %d enqueues unknown, %d completions in doubt", d.Name, guarantee,
					balance.Enqueued, balance.Completed, balance.Duplicated, balance.Unknown, balance.InDoubt)
			})
		}
	})
}

// A task is settled once: a second completion by the same worker is refused.
func TestASecondCompletionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, target program.Target, d program.Description) {
		server := launch(t, target, d.Name, d.Guarantees[0], time.Minute)
		conn := dial(t, server)
		producer, err := conn.Producer(t.Context(), "t0")
		require.NoError(t, err)
		worker, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
		require.NoError(t, err)
		outcomes := make([]error, 1)
		require.NoError(t, producer.Enqueue(t.Context(), []driver.Task{{Tenant: "t0", Queue: "q0", Payload: []byte("a payload")}}, outcomes))
		require.NoError(t, outcomes[0])
		into := make([]driver.Delivery, 1)
		n, err := worker.Claim(t.Context(), into)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		assert.Equal(t, "a payload", string(into[0].Payload))
		require.NoError(t, worker.Complete(t.Context(), into, outcomes))
		require.NoError(t, outcomes[0])
		require.NoError(t, worker.Complete(t.Context(), into, outcomes))
		assert.ErrorIs(t, outcomes[0], driver.ErrLeaseOver)
		require.Error(t, worker.Complete(t.Context(), []driver.Delivery{{Queue: "q0"}}, outcomes), "not claimed by the driver")

		// A claim without tasks ends with its context.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = worker.Claim(ctx, into)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestAnUnknownSettingIsRefused(t *testing.T) {
	for _, target := range peers.Targets() {
		d := target.Describe(t.Context())
		t.Run(d.Name, func(t *testing.T) {
			_, err := target.Launch(t.Context(), program.LaunchSpec{
				Target: d.Name, Folder: t.TempDir(), Guarantee: d.Guarantees[0], Nodes: 1, Queues: queues, Batch: 1, Lease: time.Minute,
				Settings: map[string]string{"warp": "9"},
			})
			assert.ErrorContains(t, err, `setting "warp"`)
			assert.ErrorContains(t, err, d.Name)
		})
	}
}

// Every target describes what a reader of its figures must know.
func TestDescriptionsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, target := range peers.Targets() {
		d := target.Describe(t.Context())
		assert.False(t, names[d.Name], d.Name)
		names[d.Name] = true
		assert.NotEmpty(t, d.Product, d.Name)
		assert.NotEmpty(t, d.Client, d.Name)
		assert.NotEmpty(t, d.Guarantees, d.Name)
		assert.Contains(t, d.Nodes, 1, d.Name)
		assert.NotEqual(t, d.Version == "", d.Missing == "", "%s: a version or why it is missing", d.Name)
		for _, s := range d.Settings {
			assert.NotEmpty(t, s.Value, fmt.Sprint(d.Name, s))
			assert.NotEmpty(t, s.Because, fmt.Sprint(d.Name, s))
		}
	}
}

// fenced are the targets that refuse a completion by a worker with an expired lease after another
// worker has received the task. The others have no lease, or cannot distinguish the two workers.
var fenced = map[string]bool{"beanstalkd": true, "postgresql": true, "prony": true}

// The slow worker completes one of its two tasks before the fast one receives the other, because
// beanstalkd 1.12 often misses the end of a lease while the connection of the lease is idle.
func TestACompletionAfterTheLeaseIsRefused(t *testing.T) {
	const lease = 3 * time.Second
	each(t, func(t *testing.T, target program.Target, d program.Description) {
		if !fenced[d.Name] {
			t.Skip("the server does not distinguish the current worker from earlier ones")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		server := launch(t, target, d.Name, d.Guarantees[0], lease)
		slow, fast := dial(t, server), dial(t, server)
		producer, err := slow.Producer(ctx, "t0")
		require.NoError(t, err)
		outcomes := make([]error, 2)
		require.NoError(t, producer.Enqueue(ctx, []driver.Task{
			{Tenant: "t0", Queue: "q0", Payload: []byte("the first")}, {Tenant: "t0", Queue: "q0", Payload: []byte("the second")},
		}, outcomes))
		require.NoError(t, errors.Join(outcomes...))
		worker, err := slow.Worker(ctx, "t0", []string{"q0"}, 2)
		require.NoError(t, err)
		late := make([]driver.Delivery, 2)
		for claimed := 0; claimed < len(late); {
			n, err := worker.Claim(ctx, late[claimed:])
			require.NoError(t, err)
			claimed += n
		}
		// No server reports the end of a lease.
		time.Sleep(lease)
		// Refused if the server has noticed the end of the lease.
		require.NoError(t, worker.Complete(ctx, late[1:], outcomes[1:]))
		next, err := fast.Worker(ctx, "t0", []string{"q0"}, 2)
		require.NoError(t, err)
		for again := make([]driver.Delivery, 1); string(again[0].Payload) != string(late[0].Payload); {
			n, err := next.Claim(ctx, again)
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
		require.NoError(t, worker.Complete(ctx, late[:1], outcomes[:1]))
		assert.ErrorIs(t, outcomes[0], driver.ErrLeaseOver)
	})
}
