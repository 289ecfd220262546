// Package open opens connections to a target, given the name of a driver. It supports the drivers
// that connect to a server in another process.
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

// By returns the dialer of the named driver for a target. It returns nil unless the driver is
// stream, unary or rest. Claims request the given lease.
func By(name string, target driver.Target, lease time.Duration) Dialer {
	return map[string]Dialer{
		"stream": func() (driver.Conn, error) { return stream.Dial(target, lease) },
		"unary":  func() (driver.Conn, error) { return unary.Dial(target, lease) },
		"rest":   func() (driver.Conn, error) { return rest.Dial(target, lease) },
	}[name]
}

// Reader returns a reader of tasks. It uses the transport of the named driver: REST for "rest", and
// unary gRPC calls for "stream" and "unary". Reader returns an error for any other driver.
func Reader(name string, target driver.Target) (driver.Reader, error) {
	switch name {
	case "stream", "unary":
		return unary.DialReader(target)
	case "rest":
		return rest.DialReader(target)
	}
	return nil, fmt.Errorf("the driver %q reads no tasks: use stream, unary or rest", name)
}

// QueueReader returns a reader of queues. It uses the transport of the named driver, like Reader.
// admin is the "host:port" of the admin listener of one server of the target.
func QueueReader(name string, target driver.Target, admin string) (driver.QueueReader, error) {
	switch name {
	case "stream", "unary":
		return unary.DialQueueReader(target, admin)
	case "rest":
		return rest.DialQueueReader(target, admin)
	}
	return nil, fmt.Errorf("the driver %q reads no queues: use stream, unary or rest", name)
}

// Conns opens n connections. If one of them fails, it closes the others and returns an error.
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
