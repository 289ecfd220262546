package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/embedded"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/driver/rest"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/driver/unary"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// targetOf returns the target of the load: all servers, among which the drivers route.
func targetOf(cluster *topology.Cluster, w scenario.Workload) driver.Target {
	var addresses, http []string
	for _, s := range cluster.Servers() {
		n := s.Node()
		addresses = append(addresses, n.Address)
		if n.HTTP != "" {
			http = append(http, n.HTTP)
		}
	}
	target := driver.Target{
		Address: strings.Join(addresses, ","), HTTP: strings.Join(http, ","), Token: cluster.Token, BusyPoll: w.BusyPoll, Idempotent: w.Idempotent,
	}
	if servers := cluster.Servers(); len(servers) == 1 {
		target.Dialer = servers[0].Node().Dial
	}
	return target
}

// dial opens the connections of a workload to the servers.
func dial(cluster *topology.Cluster, w scenario.Workload) (conns []driver.Conn, err error) {
	target := targetOf(cluster, w)
	nothing := null.New() // all connections of the workload share its tasks
	open := map[string]func() (driver.Conn, error){
		"stream":   func() (driver.Conn, error) { return stream.Dial(target, w.Lease) },
		"unary":    func() (driver.Conn, error) { return unary.Dial(target, w.Lease) },
		"rest":     func() (driver.Conn, error) { return rest.Dial(target, w.Lease) },
		"embedded": func() (driver.Conn, error) { return embedded.Dial(target, w.Lease) },
		"null":     func() (driver.Conn, error) { return nothing.Dial(), nil },
	}[w.Driver]
	if open == nil {
		return nil, fmt.Errorf("workload.driver is %q; it must be stream, unary, rest, embedded or null", w.Driver)
	}
	for range w.Connections {
		c, err := open()
		if err != nil {
			return nil, errors.Join(err, closeAll(conns))
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func closeAll(conns []driver.Conn) error {
	var errs []error
	for _, c := range conns {
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close a connection: %w", err))
		}
	}
	return errors.Join(errs...)
}
