//go:build !linux

package node

import "net"

// readyReader is empty on systems where gRPC reads sockets as any connection.
type readyReader struct{}

func (*readyReader) open(net.Conn) {}
