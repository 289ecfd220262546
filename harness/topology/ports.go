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

// reservation keeps a TCP port of 127.0.0.1 for a server that is about to start, and between two of its starts.
//
// The nodes of a cluster must know each other's ports before any of them runs, and clients must find a node where it
// was before it was killed. A port that was only chosen could be given to somebody else before the server binds it. So a
// socket of this process is bound to it, with SO_REUSEADDR, and never listens: the kernel then neither chooses the port
// for anybody nor lets a socket without that option bind it, while the server, whose listeners have it, can.
type reservation struct {
	descriptor int    // of the socket, or none
	address    string // "127.0.0.1:port"
}

// none is the descriptor of a port that no socket reserves: no other process listens on the server's host.
const none = -1

// portWait is how long the servers of a harness that was killed may still have the ports that they had. Tests shorten it.
var portWait = 5 * time.Second

const portTick = 20 * time.Millisecond

// reserveAgain takes a port that was reserved before, by a process that is gone.
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
			return reservation{}, fmt.Errorf("%w: another process has the port %s, which the servers need as before: end that process", err, address)
		}
	}
}

// reserve takes a port, or any free one for 0. The descriptor is not inherited by child processes.
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
		return "", fmt.Errorf("a socket bound to 127.0.0.1 says it is at %v", bound)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port)), nil
}

func (r reservation) release() error {
	if r.descriptor == none {
		return nil
	}
	return syscall.Close(r.descriptor)
}
