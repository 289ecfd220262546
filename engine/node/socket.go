package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/pronybench/prony/engine/internal/setting"
)

// socketMode allows only the server's user to connect. A Unix socket has no other protection.
const socketMode = 0o600

func listenUnix(path string) (net.Listener, error) {
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	l, err := guardedSockets.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s%s: %w", unixPrefix, path, err)
	}
	// On systems where the file does not get the mode of the socket, others can connect until this
	// point.
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != socketMode {
		if err := os.Chmod(path, socketMode); err != nil {
			return nil, errors.Join(fmt.Errorf("guard the socket: %w", err), l.Close())
		}
	}
	return l, nil
}

// guardedSockets sets the mode of a socket before the socket gets its path. Linux creates the file
// with the socket's mode, so others can never connect.
var guardedSockets = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), socketMode) }); e != nil {
		return e
	}
	if err != nil {
		return fmt.Errorf("guard the socket: %w", err)
	}
	return nil
}}

// removeStaleSocket removes a socket that a killed server has left behind. It fails if a server
// still answers at the socket.
func removeStaleSocket(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("examine the socket: %w", err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return setting.Errorf("listen", "choose another path with --listen", "listen on unix:%s: the path exists and is not a socket", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("listen on unix:%s: a server answers there: stop it, or choose another path", path), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) { // the socket of a busy server or another user
		return fmt.Errorf("listen on unix:%s: the socket may be in use: %w: choose another path", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
}
