//go:build !unix

package wire

import (
	"net"
	"time"
)

// polling returns the connection as it is: how to read without waiting is known for Unix only.
func polling(c net.Conn, _ time.Duration, _ *pollers) net.Conn { return c }
