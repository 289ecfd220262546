package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/proc/dialogue"
)

// Timeouts of the commands.
const (
	helloMax    = 10 * time.Second
	describeMax = 30 * time.Second
	launchMax   = 2 * time.Minute // also used for restart
	dialMax     = 30 * time.Second
	killMax     = 30 * time.Second
	stopMax     = 30 * time.Second
	acceptMax   = 5 * time.Second // to accept a connection that the program has already opened
)

// Process is a running driver program. It is safe for concurrent use.
type Process struct {
	sockets string // folder that contains the sockets

	mu       sync.Mutex // serializes commands
	commands *dialogue.Process
	dials    int
}

// Start starts a program and redirects its standard error to a log file. It returns when the
// program has confirmed that it uses the same protocol version. The caller must call Close.
func Start(ctx context.Context, logPath, path string, args ...string) (*Process, error) {
	// The sockets are not in the run folder, because its path may be too long for a socket.
	sockets, err := os.MkdirTemp("", "prony-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the driver program's sockets: %w", err)
	}
	p := &Process{sockets: sockets}
	p.commands, err = dialogue.Start("driver program "+filepath.Base(path), dialogue.Command{Binary: path, Args: args, LogPath: logPath})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(sockets))
	}
	if err := p.commands.Hello(ctx, helloMax, Version); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

func (p *Process) call(ctx context.Context, within time.Duration, do string, arguments, done any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commands.Call(ctx, within, do, arguments, done)
}

// PID returns the ID of the program's process.
func (p *Process) PID() int { return p.commands.PID() }

// Targets returns the targets that the program can measure.
func (p *Process) Targets(ctx context.Context) ([]Description, error) {
	var d descriptions
	err := p.call(ctx, describeMax, commandDescribe, nil, &d)
	return d.Targets, err
}

// Launch makes the program launch the servers of a target.
func (p *Process) Launch(ctx context.Context, spec LaunchSpec) (*Launched, error) {
	var l launched
	if err := p.call(ctx, launchMax, commandLaunch, spec, &l); err != nil {
		return nil, err
	}
	return &Launched{process: p, number: l.Server, pids: l.PIDs}, nil
}

// Close makes the program stop all servers, and waits until the program has ended.
func (p *Process) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.commands.End(ctx, stopMax, commandFinish, nil), os.RemoveAll(p.sockets))
}

// Kill ends the program immediately. Its child processes end too, if the program ties their
// lifetime to its own, as Prony does.
func (p *Process) Kill() error { return errors.Join(p.commands.Kill(), os.RemoveAll(p.sockets)) }

// Launched represents servers that a program has launched. It is safe for concurrent use. Dial,
// Kill, Restart and Stop behave like the methods of Server.
type Launched struct {
	process *Process
	number  int

	mu   sync.Mutex
	pids []int
}

// PIDs returns the IDs of the processes that the last start created. It returns nil if the servers
// run on other hosts.
func (l *Launched) PIDs() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pids)
}

// Dial opens a connection.
func (l *Launched) Dial(ctx context.Context) (driver.Conn, error) {
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a connection: %w", err)
	}
	return conn, nil
}

func (l *Launched) dial(ctx context.Context) (driver.Conn, error) {
	p := l.process
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	path := filepath.Join(p.sockets, strconv.Itoa(p.dials)+".sock")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		return nil, fmt.Errorf("listen for the driver program at %s: %w: set TMPDIR to a folder with a shorter path if this one is too long", path, err)
	}
	defer func() { _ = listener.Close() }() // removes the socket
	if err := p.commands.Call(ctx, dialMax, commandDial, dialing{l.number, path}, nil); err != nil {
		return nil, err
	}
	if err := listener.SetDeadline(time.Now().Add(acceptMax)); err != nil {
		return nil, err
	}
	socket, err := listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("the driver program reported a connection to %s, but none arrived: %w", path, err)
	}
	return newConn(socket, p.commands.Status), nil
}

// Kill ends the servers with SIGKILL.
func (l *Launched) Kill(ctx context.Context) error {
	return l.process.call(ctx, killMax, commandKill, reference{l.number}, nil)
}

// Restart restarts killed servers with their existing data.
func (l *Launched) Restart(ctx context.Context) error {
	var again launched
	if err := l.process.call(ctx, launchMax, commandRestart, reference{l.number}, &again); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pids = again.PIDs
	return nil
}

// Stop ends the servers. Connections should be closed first.
func (l *Launched) Stop(ctx context.Context) error {
	return l.process.call(ctx, stopMax, commandStop, reference{l.number}, nil)
}
