package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/pronybench/prony/harness/proc/dialogue"
)

// serversMax bounds the number of launched servers that a program has not stopped yet.
const serversMax = 64

// Serve reads Prony's commands from in, executes them, and writes the answers to out. It ends after
// the last command, when in ends, or when ctx is done. Before it returns, it stops all servers. The
// program must not write anything else to out. Prony writes the program's standard error to a log,
// which its error messages quote.
func Serve(ctx context.Context, in io.Reader, out io.Writer, targets ...Target) (err error) {
	s := &serving{targets: targets, servers: map[int]*serverOf{}}
	defer func() { err = errors.Join(err, s.stopAll()) }()
	return dialogue.Serve(ctx, in, out, s.commands, func(do string, failed error) (bool, error) {
		return do == commandFinish, failed
	})
}

// serving is the state of a program. Only the goroutine that executes commands uses it.
type serving struct {
	ctx     context.Context // context of the connections
	targets []Target
	servers map[int]*serverOf // servers that are launched and not stopped
	last    int
}

type serverOf struct {
	server      Server
	end         context.CancelFunc // ends the connections
	ctx         context.Context
	connections sync.WaitGroup
}

// commands returns the commands of a program. The connections of the program end when ctx is done.
func (s *serving) commands(ctx context.Context) dialogue.Commands {
	s.ctx = ctx
	return dialogue.Commands{
		dialogue.CommandHello: dialogue.Hello(Version),
		commandDescribe:       dialogue.Do(s.describe),
		commandLaunch:         dialogue.Do(s.launch),
		commandDial:           dialogue.Do(s.dial),
		commandKill:           on(s, s.kill),
		commandRestart:        on(s, s.restart),
		commandStop:           on(s, s.stop),
		commandFinish:         dialogue.Do(s.finish),
	}
}

func (s *serving) describe(ctx context.Context, _ dialogue.None) (d descriptions, err error) {
	for _, t := range s.targets {
		d.Targets = append(d.Targets, t.Describe(ctx))
	}
	return d, nil
}

func (s *serving) find(ctx context.Context, name string) (Target, Description, error) {
	var known []string
	for _, t := range s.targets {
		d := t.Describe(ctx)
		if d.Name == name {
			return t, d, nil
		}
		known = append(known, d.Name)
	}
	return nil, Description{}, fmt.Errorf("unknown target %q; the program has %s", name, list(known))
}

func (s *serving) launch(ctx context.Context, spec LaunchSpec) (launched, error) {
	t, d, err := s.find(ctx, spec.Target)
	if err != nil {
		return launched{}, err
	}
	if err := d.Check(spec); err != nil {
		return launched{}, err
	}
	if len(s.servers) == serversMax {
		return launched{}, fmt.Errorf("%d launches are not stopped; the maximum is %d", len(s.servers), serversMax)
	}
	server, err := t.Launch(ctx, spec)
	if err != nil {
		return launched{}, err
	}
	s.last++
	of := &serverOf{server: server}
	of.ctx, of.end = context.WithCancel(s.ctx)
	s.servers[s.last] = of
	return launched{Server: s.last, PIDs: server.PIDs()}, nil
}

// Check returns an error if the target cannot be launched with the given specification.
func (d Description) Check(spec LaunchSpec) error {
	attached := len(spec.Addresses) > 0
	switch {
	case !attached && d.Missing != "":
		return fmt.Errorf("%s can't be started here: %s", d.Name, d.Missing)
	case !slices.Contains(d.Guarantees, spec.Guarantee):
		return fmt.Errorf("%s has no guarantee %q; it has %s", d.Name, spec.Guarantee, list(d.Guarantees))
	case !attached && !slices.Contains(d.Nodes, spec.Nodes):
		return fmt.Errorf("%s can't be started with nodes = %d; it supports %s", d.Name, spec.Nodes, list(d.Nodes))
	}
	return nil
}

func list[V any](all []V) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

func (s *serving) of(number int) (*serverOf, error) {
	of := s.servers[number]
	if of == nil {
		return nil, fmt.Errorf("server %d was not launched, or was stopped", number)
	}
	return of, nil
}

func (s *serving) dial(ctx context.Context, d dialing) (none dialogue.None, err error) {
	of, err := s.of(d.Server)
	if err != nil {
		return none, err
	}
	to, err := of.server.Dial(ctx)
	if err != nil {
		return none, err
	}
	socket, err := new(net.Dialer).DialContext(ctx, "unix", d.Socket)
	if err != nil {
		return none, errors.Join(fmt.Errorf("connect to Prony: %w", err), to.Close())
	}
	// serveConnection sends its error to the other side.
	of.connections.Go(func() { _ = serveConnection(of.ctx, socket, to) })
	return none, nil
}

// on returns a command that applies to launched servers.
func on[D any](s *serving, do func(context.Context, reference, *serverOf) (D, error)) func(context.Context, json.RawMessage) (any, error) {
	return dialogue.Do(func(ctx context.Context, r reference) (done D, err error) {
		of, err := s.of(r.Server)
		if err != nil {
			return done, err
		}
		return do(ctx, r, of)
	})
}

func (s *serving) kill(ctx context.Context, _ reference, of *serverOf) (none dialogue.None, err error) {
	return none, of.server.Kill(ctx)
}

func (s *serving) restart(ctx context.Context, r reference, of *serverOf) (l launched, err error) {
	if err := of.server.Restart(ctx); err != nil {
		return l, err
	}
	return launched{Server: r.Server, PIDs: of.server.PIDs()}, nil
}

func (s *serving) stop(ctx context.Context, r reference, of *serverOf) (none dialogue.None, err error) {
	delete(s.servers, r.Server)
	return none, of.stop(ctx)
}

func (of *serverOf) stop(ctx context.Context) error {
	of.end()
	of.connections.Wait()
	return of.server.Stop(ctx)
}

func (s *serving) finish(context.Context, dialogue.None) (none dialogue.None, err error) {
	return none, s.stopAll()
}

// stopAll stops all launched servers. It uses new contexts, because the context of the commands may
// be done.
func (s *serving) stopAll() error {
	var errs []error
	for number, of := range s.servers {
		ctx, cancel := context.WithTimeout(context.Background(), stopMax)
		errs = append(errs, of.stop(ctx))
		cancel()
		delete(s.servers, number)
	}
	return errors.Join(errs...)
}
