// Package beanstalkd measures beanstalkd.
package beanstalkd

import (
	"context"
	"errors"
	"fmt"
	"time"

	beanstalk "github.com/beanstalkd/go-beanstalk"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// jobBytesMax is the maximum size of a task in bytes.
const jobBytesMax = 4 << 20

// Target returns the target beanstalkd.
func Target() program.Target { return target{} }

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := program.Description{
		Name: "beanstalkd", Product: "beanstalkd", Client: peer.Module("github.com/beanstalkd/go-beanstalk"),
		Guarantees: []program.Guarantee{program.Memory, program.OS, program.Fsync}, Nodes: []int{1},
		Settings: []program.Setting{
			{Name: "-b", Value: "the folder, at os and fsync", Because: "only the binlog preserves jobs over a crash"},
			{Name: "-F, -f 0", Value: "-F at os, -f 0 at fsync", Because: "never call fsync, or call it for every write of the binlog; beanstalkd has no group commit"},
			{Name: "-z", Value: fmt.Sprint(jobBytesMax), Because: "by default, jobs have at most 65,535 bytes"},
			{Name: "put, delete", Value: "pipelined: commands of all goroutines share a connection and its writes", Because: "the protocol has no batches, but the server reads the next command before the client reads the answer"},
			{Name: "reserve", Value: "one connection for each claim whose jobs are not all deleted, with all reserves of a batch in flight", Because: "a reserve blocks its connection, and only the connection that reserved a job can delete it"},
			{Name: "ttr", Value: "the lease, in whole seconds", Because: "beanstalkd counts in seconds. 1.12 often misses its end while the connection that reserved the job is idle"},
		},
		Claim: "beanstalkd(1): with -f a power failure could result in the loss of up to that many milliseconds of history; 0 calls fsync at every write of the binlog.",
	}
	path, err := child.Find("beanstalkd")
	if err == nil {
		d.Version, err = child.Version(ctx, `beanstalkd (\S+)`, path, "-v")
	}
	if err != nil {
		d.Missing = err.Error()
	}
	return d
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	processes, address, err := start(ctx, spec)
	if err != nil {
		return nil, err
	}
	s := &peer.Server{
		Processes: processes,
		Prepare:   func(context.Context) error { return nil }, // tubes are created on first use
		Open: func(context.Context) (driver.Conn, error) {
			return &conn{address: address, lease: max(time.Second, spec.Lease.Round(time.Second))}, nil
		},
	}
	return s.Begin(ctx)
}

// start starts a server with the guarantee of a launch. If the launch has an address, start returns
// the address and starts nothing.
func start(ctx context.Context, spec program.LaunchSpec) (*child.Servers, string, error) {
	if _, err := peer.Settings("beanstalkd", nil, spec.Settings); err != nil {
		return nil, "", err
	}
	if len(spec.Addresses) > 0 {
		return nil, spec.Addresses[0], nil
	}
	path, err := child.Find("beanstalkd")
	if err != nil {
		return nil, "", err
	}
	addresses, err := child.Addresses(1)
	if err != nil {
		return nil, "", err
	}
	command := []string{path, "-l", "127.0.0.1", "-p", child.Port(addresses[0]), "-z", fmt.Sprint(jobBytesMax)}
	switch spec.Guarantee {
	case program.OS:
		command = append(command, "-b", spec.Folder, "-F")
	case program.Fsync:
		command = append(command, "-b", spec.Folder, "-f", "0")
	}
	processes, err := child.Start(ctx, spec.Folder, child.Program{
		Name: "beanstalkd", Command: command,
		Serves: func(ctx context.Context) error { return child.Accepts(ctx, addresses[0]) },
	})
	return processes, addresses[0], err
}

func tube(tenant, queue string) string { return tenant + "/" + queue }

// outcomeOf converts the error of a command to its outcome. An error in the server's answer is a
// refusal; any other error leaves the outcome unknown.
func outcomeOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, beanstalk.ErrNotFound):
		return fmt.Errorf("%w: %w", peer.ErrLeaseOver, err)
	case answered(err):
		return err
	}
	return peer.Unknown(err)
}

// answered reports whether the error is an answer of the server. After any other error the
// connection is unusable.
func answered(err error) bool {
	for _, answer := range []error{
		beanstalk.ErrNotFound, beanstalk.ErrTimeout, beanstalk.ErrDeadline, beanstalk.ErrOOM, beanstalk.ErrDraining, beanstalk.ErrJobTooBig,
		beanstalk.ErrInternal, beanstalk.ErrBuried, beanstalk.ErrEmpty, beanstalk.ErrBadChar, beanstalk.ErrTooLong,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}
