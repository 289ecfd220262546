// Package rabbitmq measures RabbitMQ with classic queues, and with quorum queues on one node and on
// three.
package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// Classic returns the target rabbitmq-classic.
func Classic() program.Target { return target{name: "rabbitmq-classic", queueType: "classic"} }

// Quorum returns the target rabbitmq-quorum.
func Quorum() program.Target { return target{name: "rabbitmq-quorum", queueType: "quorum"} }

type target struct{ name, queueType string }

// installed is the location of the script that starts the server in Debian packages. The script in
// PATH cannot be used: it changes the user, and does not accept a folder.
const installed = "/usr/lib/rabbitmq/bin/"

func find(name string) (string, error) { return child.FindAt(installed+name, name) }

var versioned = regexp.MustCompile(`rabbitmq_server-(\d+\.\d+\.\d+)`)

// versionOf reads the version from the folder of the server's files, such as
// "rabbitmq_server-3.10.8". It does not use rabbitmqctl, which would start Erlang's port mapper and
// leave it running.
func versionOf(server string) (string, error) {
	path, err := filepath.EvalSymlinks(server)
	if err != nil {
		return "", fmt.Errorf("find the files of RabbitMQ: %w", err)
	}
	found := versioned.FindStringSubmatch(path)
	if found == nil {
		return "", fmt.Errorf("%s is not in a folder rabbitmq_server-VERSION, which has the version of RabbitMQ: install it from its packages", path)
	}
	return found[1], nil
}

// Describe implements program.Target.
func (t target) Describe(context.Context) program.Description {
	d := program.Description{
		Name: t.name, Product: "RabbitMQ", Client: peer.Module("github.com/rabbitmq/amqp091-go"), Nodes: []int{1},
		Settings: []program.Setting{
			{Name: "enqueue", Value: "publisher confirms, all publishes of a batch in flight", Because: "a confirm is RabbitMQ's acknowledgement of a publish"},
			{Name: "claim", Value: "basic.consume with prefetch = the worker's slots for each queue", Because: "the server pushes, so a claim needs no round trip"},
			{Name: "complete", Value: "basic.ack, with multiple if the batch has all unacknowledged tasks up to its last", Because: "one frame then serves the batch"},
			{Name: "confirmation of basic.ack", Value: t.confirmation(), Because: "RabbitMQ does not answer basic.ack"},
			{Name: "lease", Value: "none: a task is redelivered when the connection of its worker ends", Because: "the consumer timeout is 30 minutes, and ends the whole channel"},
		},
	}
	if t.queueType == "quorum" {
		d.Guarantees, d.Nodes = []program.Guarantee{program.Fsync, program.MajorityFsync}, []int{1, 3}
		d.Claim = "rabbitmq.com, quorum queues: a confirm is sent when a majority of the replicas has the message on disk."
	} else {
		d.Settings = append(d.Settings, program.Setting{Name: "delivery mode", Value: "transient at memory, else persistent", Because: "a persistent message is confirmed when it is on disk"})
		d.Claim = "rabbitmq.com, publisher confirms: a persistent message for a durable queue is confirmed when it was persisted to disk."
	}
	if server, err := find("rabbitmq-server"); err != nil {
		d.Missing = err.Error()
	} else if _, err := find("rabbitmqctl"); err != nil {
		d.Missing = err.Error()
	} else if d.Version, err = versionOf(server); err != nil {
		d.Missing = err.Error()
	}
	if t.queueType == "classic" {
		d.Guarantees = []program.Guarantee{program.Memory, program.Fsync}
		if d.Version != "" && !strings.HasPrefix(d.Version, "3.") {
			// Version 4 does not call fsync for classic queues.
			d.Guarantees = []program.Guarantee{program.Memory, program.OS}
		}
	}
	return d
}

func (t target) confirmation() string {
	declare := "queue.declare, passive, on the same channel after the acknowledgements; one call serves all waiting completions"
	if t.queueType == "quorum" {
		return declare + ". It proves that the channel has passed them to the Raft log, but not that a majority has them"
	}
	return declare + ". The queue answers it after it has handled them"
}

// Launch implements program.Target.
func (t target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	if _, err := peer.Settings(t.name, nil, spec.Settings); err != nil {
		return nil, err
	}
	if (spec.Guarantee == program.MajorityFsync) != (spec.Nodes > 1) {
		return nil, fmt.Errorf("guarantee %q with nodes = %d: majority_fsync needs three nodes, and the others one", spec.Guarantee, spec.Nodes)
	}
	s := &peer.Server{}
	addresses := spec.Addresses
	ready := func(context.Context) error { return nil }
	if len(addresses) == 0 {
		cluster, err := newCluster(spec)
		if err != nil {
			return nil, err
		}
		addresses, ready = cluster.addresses, cluster.awaitMembers
		if s.Processes, err = child.Start(ctx, spec.Folder, cluster.programs()...); err != nil {
			return nil, err
		}
	}
	s.Prepare = func(ctx context.Context) error {
		if err := ready(ctx); err != nil {
			return err
		}
		return t.declare(ctx, addresses[0], spec)
	}
	mode := amqp.Persistent
	if spec.Guarantee == program.Memory {
		mode = amqp.Transient
	}
	var dialled atomic.Uint64
	s.Open = func(context.Context) (driver.Conn, error) {
		first := dialled.Add(1)
		return &conn{mode: mode, node: func(attempt uint64) string { return addresses[(first+attempt)%uint64(len(addresses))] }}, nil
	}
	return s.Begin(ctx)
}

func queueName(tenant, queue string) string { return tenant + "/" + queue }

// prepareMax is the maximum wait until all queues have a leader.
const prepareMax = 60 * time.Second

func (t target) declare(ctx context.Context, address string, spec program.LaunchSpec) error {
	ctx, cancel := context.WithTimeout(ctx, prepareMax)
	defer cancel()
	for {
		err := t.declareOnce(address, spec)
		if err == nil {
			return nil
		}
		select { // quorum queues have no leader at first
		case <-ctx.Done():
			return fmt.Errorf("make the queues: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (t target) declareOnce(address string, spec program.LaunchSpec) error {
	connection, err := dial(address)
	if err != nil {
		return err
	}
	ch, err := connection.Channel()
	for _, q := range spec.Queues {
		if err != nil {
			break
		}
		arguments := amqp.Table{"x-queue-type": t.queueType}
		if t.queueType == "quorum" {
			arguments["x-quorum-initial-group-size"] = int32(max(1, spec.Nodes))
		}
		_, err = ch.QueueDeclare(queueName(q.Tenant, q.Name), true, false, false, false, arguments)
	}
	return errors.Join(err, connection.Close())
}
