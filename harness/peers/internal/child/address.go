package child

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Addresses returns count addresses of loopback, all different, each free for a server to listen on. The OS gives none of their ports to anybody
// else for a minute, so that a server may take its time to start.
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

// reserve leaves a closed connection at a free port. Its end that closed first stays there in the state TIME_WAIT, which Linux keeps for a minute:
// the OS picks such a port for nobody, while a program that asks for it by number and sets SO_REUSEADDR gets it, as servers do.
func reserve() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }() // it never has more than the one connection
	address := listener.Addr().String()
	dialed, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = dialed.Close() }() // it is at its end
	accepted, err := listener.Accept()
	if err != nil {
		return "", err
	}
	if err := accepted.Close(); err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, dialed) // until the other end's close is here
	return address, err
}

// Port returns the port of an address of Addresses.
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
