// Package nats measures NATS JetStream, on one node and on three: a stream for each queue, with one
// durable pull consumer.
package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

const (
	consumer = "workers"
	// answerMax is the maximum wait for the answer to a publish or an acknowledgement.
	answerMax = 5 * time.Second
	// prepareMax is the maximum wait for a leader of each stream.
	prepareMax = 60 * time.Second
	// pullsMax is the maximum number of pull requests of a consumer.
	pullsMax = 4096
	// publishesMax is the maximum number of unanswered publishes of a connection.
	publishesMax = 1 << 16
	// publishStall is how long a publish waits if publishesMax is reached.
	publishStall = answerMax
)

// Target returns the target nats.
func Target() program.Target { return target{} }

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := program.Description{
		Name: "nats", Product: "NATS JetStream", Client: peer.Module("github.com/nats-io/nats.go"),
		Guarantees: []program.Guarantee{program.Memory, program.OS, program.Fsync, program.Majority, program.MajorityFsync}, Nodes: []int{1, 3},
		Settings: []program.Setting{
			{Name: "storage", Value: "memory at memory, else file", Because: "only file storage preserves messages over a crash"},
			{Name: "sync_interval", Value: "always at fsync and majority_fsync, else the default of 2 minutes", Because: "always calls fsync before a publish is acknowledged"},
			{Name: "num_replicas", Value: "3 on three nodes", Because: "a publish is acknowledged by a majority"},
			{Name: "retention", Value: "workqueue, a stream for each queue", Because: "an acknowledged message is deleted, as a task queue does"},
			{Name: "publish", Value: "PublishAsync, and a wait for each answer", Because: "publishes of all goroutines of a connection are in flight together"},
			{Name: "claim", Value: "Messages of a durable pull consumer, with as many prefetched as the worker has slots", Because: "the client keeps a pull request open, so that a claim needs no round trip"},
			{Name: "complete", Value: "DoubleAck of each message, in flight together", Because: "the server confirms it, unlike a plain Ack. It does not report an expired lease"},
			{Name: "max_ack_pending", Value: "-1", Because: "by default, all workers of a queue together have at most 1,000 messages"},
			{Name: "ack_wait", Value: "the lease", Because: "an unacknowledged message is redelivered after it"},
		},
		Claim: "docs.nats.io, JetStream: the server does not fsync at once by default, so that an operating system's failure can lose acknowledged messages; " +
			"sync_interval: always calls fsync after every message, before it is acknowledged.",
	}
	path, err := child.Find("nats-server")
	if err == nil {
		d.Version, err = child.Version(ctx, `v(\d\S*)`, path, "--version")
	}
	if err != nil {
		d.Missing = err.Error()
	}
	return d
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	if _, err := peer.Settings("nats", nil, spec.Settings); err != nil {
		return nil, err
	}
	replicated := spec.Guarantee == program.Majority || spec.Guarantee == program.MajorityFsync
	if replicated != (spec.Nodes > 1) {
		return nil, fmt.Errorf("guarantee %q with nodes = %d: majority and majority_fsync need three nodes, and the others one", spec.Guarantee, spec.Nodes)
	}
	s := &peer.Server{}
	addresses := spec.Addresses
	if len(addresses) == 0 {
		var err error
		if addresses, err = child.Addresses(2 * spec.Nodes); err != nil {
			return nil, err
		}
		routes := addresses[spec.Nodes:]
		addresses = addresses[:spec.Nodes]
		programs, err := programsOf(spec, addresses, routes)
		if err != nil {
			return nil, err
		}
		if s.Processes, err = child.Start(ctx, spec.Folder, programs...); err != nil {
			return nil, err
		}
	}
	s.Prepare = func(ctx context.Context) error { return prepare(ctx, addresses, spec) }
	s.Open = func(context.Context) (driver.Conn, error) { return open(addresses, spec) }
	return s.Begin(ctx)
}

// programsOf writes the configuration of each node and returns the programs to start.
func programsOf(spec program.LaunchSpec, clients, routes []string) ([]child.Program, error) {
	path, err := child.Find("nats-server")
	if err != nil {
		return nil, err
	}
	interval := "2m"
	if spec.Guarantee == program.Fsync || spec.Guarantee == program.MajorityFsync {
		interval = "always"
	}
	var programs []child.Program
	for i, address := range clients {
		name := fmt.Sprint("nats-", i+1)
		config := fmt.Sprintf("server_name: %s\nlisten: %q\njetstream {\n  store_dir: %q\n  sync_interval: %q\n}\n", name, address, filepath.Join(spec.Folder, name), interval)
		if len(clients) > 1 {
			config += fmt.Sprintf("cluster {\n  name: prony\n  listen: %q\n  routes: [%s]\n}\n", routes[i], `"nats://`+strings.Join(routes, `", "nats://`)+`"`)
		}
		file := filepath.Join(spec.Folder, name+".conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, fmt.Errorf("write the configuration of %s: %w", name, err)
		}
		programs = append(programs, child.Program{
			Name: name, Command: []string{path, "-c", file},
			Serves: func(ctx context.Context) error { return child.Accepts(ctx, address) },
		})
	}
	return programs, nil
}

func connect(addresses []string) (*natsgo.Conn, error) {
	return natsgo.Connect("nats://"+strings.Join(addresses, ",nats://"),
		natsgo.MaxReconnects(-1), natsgo.ReconnectWait(50*time.Millisecond), natsgo.ReconnectJitter(0, 0),
		// Without a connected server, a publish fails immediately instead of waiting.
		natsgo.ReconnectBufSize(-1))
}

func streamOf(queue int) string { return fmt.Sprint("queue-", queue) }

func subjectOf(queue int) string { return fmt.Sprint("tasks.", queue) }

// prepare creates missing streams and consumers of the queues, and returns when each has a leader.
func prepare(ctx context.Context, addresses []string, spec program.LaunchSpec) error {
	ctx, cancel := context.WithTimeout(ctx, prepareMax)
	defer cancel()
	nc, err := connect(addresses)
	if err != nil {
		return fmt.Errorf("connect to %v: %w", addresses, err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	storage := jetstream.FileStorage
	if spec.Guarantee == program.Memory {
		storage = jetstream.MemoryStorage
	}
	for i, q := range spec.Queues {
		for {
			err := makeQueue(ctx, js, i, storage, spec)
			if err == nil {
				break
			}
			select { // nodes have no leader directly after their start
			case <-ctx.Done():
				return fmt.Errorf("make the stream of queue %q of tenant %q: %w", q.Name, q.Tenant, err)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

func makeQueue(ctx context.Context, js jetstream.JetStream, queue int, storage jetstream.StorageType, spec program.LaunchSpec) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamOf(queue), Subjects: []string{subjectOf(queue)}, Retention: jetstream.WorkQueuePolicy, Storage: storage, Replicas: max(1, spec.Nodes),
	})
	if err != nil {
		return err
	}
	made, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: spec.Lease, MaxAckPending: -1, MaxWaiting: pullsMax,
	})
	if err != nil {
		return err
	}
	if info, err := made.Info(ctx); err != nil {
		return err
	} else if info.Cluster != nil && info.Cluster.Leader == "" {
		return errors.New("its consumer has no leader")
	}
	return nil
}

// outcomeOf converts the error of a call to its outcome. An error in the server's answer and a call
// that was not sent are refusals. Any other error leaves the outcome unknown.
func outcomeOf(err error) error {
	var refused *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrMsgAlreadyAckd):
		return fmt.Errorf("%w: %w", peer.ErrLeaseOver, err)
	case errors.As(err, &refused), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, natsgo.ErrReconnectBufExceeded):
		return err
	}
	return peer.Unknown(err)
}
