// Package embedded drives a server inside the generator's process, through the client's streaming
// sessions over an in-memory pipe: no socket, no system call, no second process. A comparison with
// other drivers shows the cost of these. Client and server share the process's CPUs, heap and
// garbage collector, so their usage cannot be separated.
package embedded

import (
	"errors"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/stream"
)

// Dial connects to a target in this process through target.Dialer. Claims request the given lease.
func Dial(target driver.Target, lease time.Duration) (driver.Conn, error) {
	if target.Dialer == nil {
		return nil, errors.New(`the driver "embedded" needs a server in the same process: use topology "embedded"`)
	}
	return stream.Dial(target, lease)
}
