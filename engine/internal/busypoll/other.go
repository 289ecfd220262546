//go:build !unix

package busypoll

import (
	"net"
	"time"
)

// polling returns c. Reading without blocking is implemented only for Unix.
func polling(c net.Conn, _ time.Duration, _ *pollers) net.Conn { return c }
