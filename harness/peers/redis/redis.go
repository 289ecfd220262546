// Package redis measures Redis as a task queue in two ways: reliable lists (redis-list) and streams
// with a consumer group (redis-stream).
package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

const (
	// blockMax is how long a blocking claim waits at the server. The client cannot cancel it, so
	// this also bounds the delay of a cancelled claim.
	blockMax = time.Second
	// answerMax is the maximum wait for the answer to a command that does not block.
	answerMax = 10 * time.Second
	// connectionsMax is the maximum number of connections of a client: each blocking claim needs a
	// separate connection.
	connectionsMax = 4096
)

// Lists returns the target redis-list.
func Lists() program.Target {
	return target{name: "redis-list", settings: listSettings, open: openLists, prepare: func(context.Context, *goredis.Client, program.LaunchSpec) error { return nil }}
}

// Streams returns the target redis-stream.
func Streams() program.Target {
	return target{name: "redis-stream", settings: streamSettings, open: openStreams, prepare: makeGroups}
}

// target is Redis in one of the two ways.
type target struct {
	name     string
	settings []program.Setting
	open     func(client *goredis.Client, spec program.LaunchSpec) (driver.Conn, error)
	prepare  func(ctx context.Context, client *goredis.Client, spec program.LaunchSpec) error
}

// ServerSettings returns the settings of the server.
func ServerSettings() []program.Setting {
	return []program.Setting{
		{Name: "appendonly", Value: "no at memory, else yes", Because: "only the append-only file preserves every acknowledged write over a crash"},
		{Name: "appendfsync", Value: "no at os, always at fsync", Because: "no writes before each answer, but everysec may delay a write for up to 2 s during an fsync; a scenario may set everysec at memory"},
		{Name: "save", Value: "none", Because: "snapshots in addition to the append-only file cost time without improving the guarantee"},
	}
}

// Describe implements program.Target.
func (t target) Describe(ctx context.Context) program.Description {
	d := program.Description{
		Name: t.name, Product: "Redis", Client: peer.Module("github.com/redis/go-redis/v9"),
		Guarantees: []program.Guarantee{program.Memory, program.OS, program.Fsync}, Nodes: []int{1},
		Settings: append(ServerSettings(), t.settings...),
		Claim: "redis.conf: with appendfsync everysec Redis can lose one second of writes at a power failure, or a single write if the process alone fails; " +
			"always is \"slow, safest\".",
	}
	path, err := child.Find("redis-server")
	if err == nil {
		d.Version, err = child.Version(ctx, `v=(\S+)`, path, "--version")
	}
	if err != nil {
		d.Missing = err.Error()
	}
	return d
}

// Launch implements program.Target.
func (t target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	processes, address, err := Start(ctx, t.name, spec)
	if err != nil {
		return nil, err
	}
	admin := Dial(address)
	s := &peer.Server{Processes: processes, Free: admin.Close}
	s.Prepare = func(ctx context.Context) error { return t.prepare(ctx, admin, spec) }
	s.Open = func(context.Context) (driver.Conn, error) { return t.open(Dial(address), spec) }
	return s.Begin(ctx)
}

// Start starts a server with the guarantee of a launch, and returns its address. If the launch has
// an address, Start starts no server.
func Start(ctx context.Context, target string, spec program.LaunchSpec) (*child.Servers, string, error) {
	settings, err := peer.Settings(target, map[string]string{"appendfsync": ""}, spec.Settings)
	if err != nil {
		return nil, "", err
	}
	if len(spec.Addresses) > 0 {
		return nil, spec.Addresses[0], nil
	}
	path, err := child.Find("redis-server")
	if err != nil {
		return nil, "", err
	}
	addresses, err := child.Addresses(1)
	if err != nil {
		return nil, "", err
	}
	command, err := commandOf(path, addresses[0], spec, settings["appendfsync"])
	if err != nil {
		return nil, "", err
	}
	processes, err := child.Start(ctx, spec.Folder, child.Program{
		Name: "redis-server", Command: command,
		Serves: func(ctx context.Context) error { return serves(ctx, addresses[0]) },
	})
	return processes, addresses[0], err
}

func commandOf(path, address string, spec program.LaunchSpec, fsync string) ([]string, error) {
	switch {
	case fsync != "" && spec.Guarantee != program.Memory:
		return nil, fmt.Errorf("setting appendfsync = %q: guarantee %q already defines it: remove the setting, or set the guarantee to \"memory\"", fsync, spec.Guarantee)
	case spec.Guarantee == program.OS:
		fsync = "no"
	case spec.Guarantee == program.Fsync:
		fsync = "always"
	}
	command := []string{path, "--bind", "127.0.0.1", "--port", child.Port(address), "--dir", spec.Folder, "--save", "", "--daemonize", "no"}
	if fsync == "" {
		return append(command, "--appendonly", "no"), nil
	}
	return append(command, "--appendonly", "yes", "--appendfsync", fsync), nil
}

func serves(ctx context.Context, address string) error {
	client := Dial(address)
	err := client.Ping(ctx).Err()
	return errors.Join(err, client.Close())
}

// Dial returns a client. It never retries a command, because a command whose connection broke may
// have taken effect.
func Dial(address string) *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr: address, MaxRetries: -1, PoolSize: connectionsMax, ReadTimeout: answerMax, WriteTimeout: answerMax,
		DialerRetries: 1, DisableIdentity: true,
	})
}

// outcomeOf converts the error of a command to its outcome. An error in the server's answer is a
// refusal; any other error leaves the outcome unknown.
func outcomeOf(err error) error {
	var refused goredis.Error
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return peer.Unknown(err)
}

// isNil reports whether err is Redis's nil reply: the key or the element does not exist.
func isNil(err error) bool { return errors.Is(err, goredis.Nil) }
