package child

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Addresses returns count different loopback addresses with free ports. The ports stay reserved for
// a minute, so that no other process gets one while the server starts.
func Addresses(count int) ([]string, error) {
	addresses := make([]string, count)
	for i := range addresses {
		var err error
		if addresses[i], err = reserve(); err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return addresses, nil
}

// reserve returns a free address whose port is reserved by a closed connection. The socket that
// closed first remains at the port in state TIME_WAIT, for a minute on Linux. During this minute
// the OS does not choose the port for a listener on port 0 or for an outgoing connection. A server
// can still listen on the port by its number, because servers set SO_REUSEADDR.
func reserve() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }() // its only connection is accepted below
	address := listener.Addr().String()
	dialed, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = dialed.Close() }() // the other side has closed it
	accepted, err := listener.Accept()
	if err != nil {
		return "", err
	}
	if err := accepted.Close(); err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, dialed) // returns after the accepted side has closed
	return address, err
}

// Port returns the port of an address from Addresses.
func Port(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}

// Accepts returns nil if a server accepts connections at an address.
func Accepts(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
