package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// targetOf returns all servers as the target of a load. The drivers choose among the servers.
func targetOf(cluster *topology.Cluster, w scenario.Workload) driver.Target {
	address, http := cluster.Addresses()
	target := driver.Target{Address: address, HTTP: http, Token: cluster.Token, CA: cluster.CA, BusyPoll: w.BusyPoll, Idempotent: w.Idempotent, PlaintextToken: cluster.OnHosts()}
	if servers := cluster.Servers(); len(servers) == 1 {
		target.Dialer = servers[0].Node().Dial
	}
	if w.CancelsTasks() {
		for _, s := range cluster.Servers() {
			target.Admin = append(target.Admin, s.Node().Admin)
		}
	}
	return target
}

// dial opens the connections of a workload. It connects to the given target servers, or to the
// cluster if servers is nil.
func dial(ctx context.Context, cluster *topology.Cluster, servers *targetServers, w scenario.Workload) ([]driver.Conn, error) {
	if servers != nil {
		return servers.dial(ctx, w)
	}
	target := targetOf(cluster, w)
	dialer := open.By(w.Driver, target, w.Lease)
	switch w.Driver {
	case scenario.DriverEmbedded:
		dialer = func() (driver.Conn, error) { return dialEmbedded(target, w.Lease) }
	case scenario.DriverNull:
		nothing := null.New() // all connections of the workload share its tasks
		dialer = func() (driver.Conn, error) { return nothing.Dial(), nil }
	}
	if dialer == nil {
		return nil, fmt.Errorf("workload.driver is %q, expected stream, unary, rest, embedded, null or the driver of a target program", w.Driver)
	}
	return open.Conns(w.Connections, dialer)
}

// dialEmbedded returns a connection to the server inside this process, through the client's
// streaming sessions over an in-memory pipe: no socket, no system call, no second process. A
// comparison with other drivers shows the cost of these. Client and server share the process's
// CPUs, heap and garbage collector, so their usage cannot be separated.
func dialEmbedded(target driver.Target, lease time.Duration) (driver.Conn, error) {
	if target.Dialer == nil {
		return nil, errors.New(`the driver "embedded" needs a server in the same process: use topology "embedded"`)
	}
	return stream.Dial(target, lease)
}
