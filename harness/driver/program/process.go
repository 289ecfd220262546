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

// How long commands take at most.
const (
	helloMax    = 10 * time.Second
	describeMax = 30 * time.Second
	launchMax   = 2 * time.Minute // restart too
	dialMax     = 30 * time.Second
	killMax     = 30 * time.Second
	stopMax     = 30 * time.Second
	acceptMax   = 5 * time.Second // for a connection that the program has said to have made
)

// Process is a driver program that runs. Its methods may be called from any goroutine.
type Process struct {
	sockets string // a folder for sockets

	mu       sync.Mutex // one command at a time
	commands *dialogue.Process
	dials    int
}

// Start starts a program, whose standard error goes to a log, and returns when it has said that it speaks the same version of the protocol.
// The caller must call Close.
func Start(ctx context.Context, logPath, path string, args ...string) (*Process, error) {
	sockets, err := os.MkdirTemp("", "prony-") // the run folder's path may be longer than a socket's may be
	if err != nil {
		return nil, fmt.Errorf("make a folder for the driver program's sockets: %w", err)
	}
	p := &Process{sockets: sockets}
	p.commands, err = dialogue.Start("driver program "+filepath.Base(path), dialogue.Command{Binary: path, Args: args, LogPath: logPath})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(sockets))
	}
	var said version
	err = p.commands.Call(ctx, helloMax, commandHello, version{Version}, &said)
	if err == nil && said.Version != Version {
		err = fmt.Errorf("driver program %s: it speaks version %d of the driver protocol, and Prony version %d: use programs of the same version", path, said.Version, Version)
	}
	if err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// call sends a command.
func (p *Process) call(ctx context.Context, within time.Duration, do string, arguments, done any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commands.Call(ctx, within, do, arguments, done)
}

// PID is the program's process.
func (p *Process) PID() int { return p.commands.PID() }

// Targets returns what the program can measure.
func (p *Process) Targets(ctx context.Context) ([]Description, error) {
	var d descriptions
	err := p.call(ctx, describeMax, commandDescribe, nil, &d)
	return d.Targets, err
}

// Launch has the program launch a target's servers.
func (p *Process) Launch(ctx context.Context, spec LaunchSpec) (*Launched, error) {
	var l launched
	if err := p.call(ctx, launchMax, commandLaunch, spec, &l); err != nil {
		return nil, err
	}
	return &Launched{process: p, number: l.Server, pids: l.PIDs}, nil
}

// Close has the program stop all servers, and ends it.
func (p *Process) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.commands.End(ctx, stopMax, commandFinish, nil), os.RemoveAll(p.sockets))
}

// Kill ends the program at once. What it started ends with it, if the program sees to that as Prony does.
func (p *Process) Kill() error { return errors.Join(p.commands.Kill(), os.RemoveAll(p.sockets)) }

// Launched are servers that a program has launched. Its methods may be called from any goroutine. Dial, Kill, Restart and Stop are as those of a
// Server.
type Launched struct {
	process *Process
	number  int

	mu   sync.Mutex
	pids []int
}

// PIDs returns the servers' processes: those of the last start. It returns nil for servers that run elsewhere.
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
		return nil, fmt.Errorf("the driver program said that it has connected to %s, and has not: %w", path, err)
	}
	return newConn(socket, p.commands.Status), nil
}

// Kill ends the servers by SIGKILL.
func (l *Launched) Kill(ctx context.Context) error {
	return l.process.call(ctx, killMax, commandKill, reference{l.number}, nil)
}

// Restart starts servers that were killed on the same data.
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

// Stop ends the servers. Connections should be closed before.
func (l *Launched) Stop(ctx context.Context) error {
	return l.process.call(ctx, stopMax, commandStop, reference{l.number}, nil)
}
