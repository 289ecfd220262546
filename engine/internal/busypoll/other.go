//go:build !unix

package busypoll

import (
	"net"
	"time"
)

// polling returns c itself: reading without blocking is implemented for Unix only.
func polling(c net.Conn, _ time.Duration, _ *pollers) net.Conn { return c }
