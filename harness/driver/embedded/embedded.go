// Package embedded drives a server that is a part of the generator's own process, through the client's streaming sessions
// over a pipe in its memory: no socket, no system call, no second process. It shows what is left of a cycle's cost without
// them. Client and server share the process's CPUs, heap and collector, so their usage cannot be separated.
package embedded

import (
	"errors"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/stream"
)

// Dial opens a connection to a target of this process, which says how it is reached. lease is what claims ask for.
func Dial(target driver.Target, lease time.Duration) (driver.Conn, error) {
	if target.Dialer == nil {
		return nil, errors.New(`the driver "embedded" reaches a server in its own process only; write topology "embedded"`)
	}
	return stream.Dial(target, lease)
}
