//go:build !linux

package node

import "net"

// readyReader is empty on systems where gRPC has no special treatment of sockets.
type readyReader struct{}

func (*readyReader) open(net.Conn) {}
