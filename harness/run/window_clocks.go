package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// clocks reads the CPU clocks of all processes at the edges of the window.
type clocks struct {
	servers   serverProbes
	target    *targetProbe // nil if the round runs on Prony's own servers
	generator func() int   // returns the ID of the generator's process
	mark      func() profile.Mark
	topology  string // kind of the topology

	span   profile.Span // period that the CPU figures cover
	before observe.Usage
	server observe.Spent // sum of all servers
	client observe.Spent
}

func (c *clocks) start(ctx context.Context) (err error) {
	if c.before, err = c.read(func(s *serverProbe) error { return s.sampleBefore(ctx) }); err != nil {
		return err
	}
	if err := c.target.start(); err != nil {
		return err
	}
	c.span.From = c.mark()
	return nil
}

func (c *clocks) stop(ctx context.Context) error {
	client, err := c.read(func(s *serverProbe) error { return s.sampleAfter(ctx) })
	err = errors.Join(err, c.target.end())
	c.span.To = c.mark()
	if err != nil {
		return err
	}
	for i, s := range c.servers {
		if i == 0 {
			c.server = s.spent
		} else {
			c.server = c.server.Plus(s.spent)
		}
	}
	c.client = client.Since(c.before)
	if c.target != nil {
		c.server, c.client = c.target.spent, c.client.Plus(c.target.program)
	}
	return nil
}

// read reads the clocks of the servers with the given function, and returns that of the generator.
func (c *clocks) read(server func(*serverProbe) error) (observe.Usage, error) {
	if c.remote() { // each read is a request over the network
		err := c.servers.each(server)
		client, clientErr := observe.Sample(c.generator())
		return client, errors.Join(err, clientErr)
	}
	for _, s := range c.servers {
		if err := server(s); err != nil {
			return observe.Usage{}, err
		}
	}
	return observe.Sample(c.generator())
}

func (c *clocks) remote() bool { return c.topology == scenario.Remote }

// separate reports whether the servers and the generator are different processes.
func (c *clocks) separate() bool {
	return len(c.servers) > 0 && c.topology != scenario.Embedded || c.target.separate()
}

// known reports whether the CPU time of all servers is known.
func (c *clocks) known() bool {
	if c.target != nil && c.target.unknown {
		return false
	}
	return !slices.ContainsFunc(c.servers, func(s *serverProbe) bool { return s.cpuUnknown != nil })
}

// cores adds the number of CPUs that the servers used.
func (c *clocks) cores(m *measured) error {
	if !c.separate() || !c.known() {
		return nil
	}
	cores, err := c.server.Cores()
	if err == nil {
		m.round.Metrics[result.ServerCPUCores] = cores
	}
	return err
}

// perCycle adds the CPU time and the context switches per cycle of the generator and of the servers, and the
// bytes that the servers wrote. If no server has a separate process, it adds only the CPU time of the
// generator's process and these bytes.
func (c *clocks) perCycle(m *measured) error {
	cycles := m.cyclesOf(c.span)
	if bytes, known := c.server.Written.PerCycle(cycles); known && len(c.servers) > 0 {
		m.round.Metrics[result.WrittenBytesPerCycle] = bytes / float64(len(c.servers))
	}
	if !c.separate() {
		us, err := c.client.CPUMicrosecondsPer(cycles)
		if err != nil {
			return fmt.Errorf("no CPU time per cycle: %w", err)
		}
		m.round.Metrics[result.CPUUsPerCycle] = us
		return nil
	}
	if switches, known := c.server.Switches.PerCycle(cycles); known {
		m.round.Metrics[result.ServerSwitchesPerCycle] = switches
	}
	if switches, known := c.client.Switches.PerCycle(cycles); known {
		m.round.Metrics[result.ClientSwitchesPerCycle] = switches
	}
	client, clientErr := c.client.CPUMicrosecondsPer(cycles)
	if !c.known() {
		m.round.Metrics[result.ClientCPUUsPerCycle] = client
		return clientErr
	}
	server, serverErr := c.server.CPUMicrosecondsPer(cycles)
	if err := errors.Join(serverErr, clientErr); err != nil {
		return fmt.Errorf("no CPU time per cycle: %w", err)
	}
	m.round.Metrics[result.ServerCPUUsPerCycle] = server
	m.round.Metrics[result.ClientCPUUsPerCycle] = client
	return nil
}
