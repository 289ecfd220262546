// Package open opens connections to a target by the name of their driver. It knows the drivers that reach a server in another
// process.
package open

import (
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/rest"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/driver/unary"
)

// Dialer opens one connection.
type Dialer func() (driver.Conn, error)

// By returns the dialer of a driver's name for a target; nil of any other driver than stream, unary and rest. lease is what claims
// ask for.
func By(name string, target driver.Target, lease time.Duration) Dialer {
	return map[string]Dialer{
		"stream": func() (driver.Conn, error) { return stream.Dial(target, lease) },
		"unary":  func() (driver.Conn, error) { return unary.Dial(target, lease) },
		"rest":   func() (driver.Conn, error) { return rest.Dial(target, lease) },
	}[name]
}

// Reader returns a reader of tasks that reaches a target as a driver does: by REST of "rest", and by unary gRPC calls of "stream" and
// "unary". Any other driver is an error.
func Reader(name string, target driver.Target) (driver.Reader, error) {
	switch name {
	case "stream", "unary":
		return unary.DialReader(target)
	case "rest":
		return rest.DialReader(target)
	}
	return nil, fmt.Errorf("the driver %q reads no tasks; stream, unary and rest do", name)
}

// QueueReader returns a reader of queues that reaches the admin listener of a server of the target, at "host:port", as Reader does.
func QueueReader(name string, target driver.Target, admin string) (driver.QueueReader, error) {
	switch name {
	case "stream", "unary":
		return unary.DialQueueReader(target, admin)
	case "rest":
		return rest.DialQueueReader(target, admin)
	}
	return nil, fmt.Errorf("the driver %q reads no queues; stream, unary and rest do", name)
}

// Conns opens n connections, or none.
func Conns(n int, dial Dialer) (conns []driver.Conn, err error) {
	for range n {
		c, err := dial()
		if err != nil {
			return nil, errors.Join(err, Close(conns))
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// Close closes connections.
func Close(conns []driver.Conn) error {
	var errs []error
	for _, c := range conns {
		if err := c.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close a connection: %w", err))
		}
	}
	return errors.Join(errs...)
}
