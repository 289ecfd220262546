package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// reservation reserves a TCP port of 127.0.0.1 for a server, before the server's first start and
// between its starts.
//
// The nodes of a cluster must know each other's ports before any of them runs, and clients must
// find a restarted node at the same port. If a port were only chosen and not reserved, the kernel
// might assign it to another process before the server binds it. Therefore this process binds a
// socket to the port, with SO_REUSEADDR, and never listens on it. The kernel then does not choose
// the port for other sockets, and rejects a bind by a socket without SO_REUSEADDR. The server can
// bind the port, because its listeners have this option.
type reservation struct {
	descriptor int    // descriptor of the socket, or the constant none
	address    string // "127.0.0.1:port"
}

// none is the descriptor of a port that no socket reserves. It is used on hosts that have no other
// listeners.
const none = -1

// portWait bounds the wait for ports that the servers of a killed harness still occupy. Tests
// shorten it.
var portWait = 5 * time.Second

const portTick = 20 * time.Millisecond

func reserveAgain(ctx context.Context, address string) (reservation, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return reservation{}, fmt.Errorf("reserve a port: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	for {
		r, err := reserve(int(at.Port()))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return r, err
		}
		select {
		case <-time.After(portTick):
		case <-limited.Done():
			if ctx.Err() != nil {
				return reservation{}, ctx.Err()
			}
			return reservation{}, fmt.Errorf("%w: another process has the port %s, which the servers used before: end that process", err, address)
		}
	}
}

// reserve reserves the given port. 0 selects any free port. Child processes do not inherit the
// descriptor.
func reserve(port int) (reservation, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return reservation{}, fmt.Errorf("reserve a port: %w", err)
	}
	r := reservation{descriptor: fd}
	r.address, err = bind(fd, port)
	if err != nil {
		return reservation{}, errors.Join(fmt.Errorf("reserve a port: %w", err), r.release())
	}
	return r, nil
}

func bind(fd, port int) (string, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	at, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("a socket bound to 127.0.0.1 has the address %v", bound)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port)), nil
}

func (r reservation) release() error {
	if r.descriptor == none {
		return nil
	}
	return syscall.Close(r.descriptor)
}
