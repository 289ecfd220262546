package hosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// Config defines a network of hosts.
type Config struct {
	Hosts int            // at least 2
	Want  scenario.Hosts // required conditions between the hosts

	Forwarder string // binary that calls Main (see IsChild); "" means the running program
	Log       string // path of the file for the forwarder's messages
}

// Network is a set of hosts and the links between them. It is not safe for concurrent use.
type Network struct {
	config     Config
	namespaces []*os.File // one per host
	forwarder  *process
	trips      Trips
	delay      time.Duration // one-way delay that the forwarder adds
}

// Trips contains the measured round trips between the hosts, in milliseconds.
type Trips struct {
	FloorP50 float64 // median without added delay
	P50, P99 float64
	Pings    int // number of answered echo requests
	Lost     int // number of unanswered echo requests
}

// Start creates hosts and measures the round trips between them. The caller must call Close.
func Start(ctx context.Context, c Config) (_ *Network, err error) {
	if !Entered() {
		return nil, ErrOutside
	}
	if c.Forwarder == "" {
		if c.Forwarder, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("start the hosts: %w", err)
		}
	}
	n := &Network{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the hosts: %w", err), n.Close())
		}
	}()
	if err := makeLoadAddress(); err != nil {
		return nil, err
	}
	var devices []*os.File
	// The forwarder has its own copies of the descriptors.
	defer func() { err = errors.Join(err, closeAll(devices...)) }()
	for i := range c.Hosts {
		namespace, err := makeNamespace()
		if err != nil {
			return nil, err
		}
		n.namespaces = append(n.namespaces, namespace)
		err = inside(namespace, func() error {
			tun, err := makeTUN(i)
			if err == nil {
				devices = append(devices, tun)
			}
			return err
		})
		if err == nil {
			err = makeVeth(i, namespace)
		}
		if err != nil {
			return nil, fmt.Errorf("host %d: %w", i+1, err)
		}
	}
	if n.forwarder, err = startForwarder(c.Forwarder, devices, c.Log); err != nil {
		return nil, err
	}
	return n, n.calibrate(ctx)
}

// calibrate first measures the round trip without added delay. It then makes the forwarder add the
// delay that is missing. A second measurement corrects for other delays of the forwarder, such as
// late wake-ups. Finally it measures the round trips that Trips returns. All of this happens before
// loss and bandwidth limits are configured.
func (n *Network) calibrate(ctx context.Context) error {
	want := n.config.Want.RoundTrip
	floor, err := n.ping(ctx, pingsOfFloor)
	if err != nil {
		return err
	}
	if err := n.addDelay(want - floor.percentile(50)); err != nil {
		return err
	}
	if n.delay > 0 {
		trial, err := n.ping(ctx, pingsAt(want)/2)
		if err != nil {
			return err
		}
		if err := n.addDelay(2*n.delay + want - trial.percentile(50)); err != nil {
			return err
		}
	}
	trips, err := n.ping(ctx, pingsAt(want))
	if err != nil {
		return err
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	n.trips = Trips{
		FloorP50: ms(floor.percentile(50)), P50: ms(trips.percentile(50)), P99: ms(trips.percentile(99)),
		Pings: len(trips.all), Lost: trips.lost,
	}
	return n.each(func(int) error {
		var errs []error
		if n.config.Want.LossPercent > 0 {
			errs = append(errs, lose(n.config.Want.LossPercent))
		}
		if n.config.Want.Bandwidth > 0 {
			errs = append(errs, limitBandwidth(float64(n.config.Want.Bandwidth)))
		}
		return errors.Join(errs...)
	})
}

// addDelay makes the forwarder add the given delay to each round trip. A negative delay is treated
// as 0.
func (n *Network) addDelay(trip time.Duration) error {
	n.delay = max(0, trip) / 2
	_, err := n.forwarder.ask(request{DelayNs: int64(n.delay)})
	return err
}

// Close removes the hosts. All processes on them must have ended.
func (n *Network) Close() error {
	var errs []error
	if n.forwarder != nil {
		errs = append(errs, n.forwarder.close())
	}
	for i := range n.namespaces {
		errs = append(errs, removeVeth(i))
	}
	errs = append(errs, closeAll(n.namespaces...))
	n.forwarder, n.namespaces = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the hosts: %w", err)
	}
	return nil
}

// Address returns the address of the host with the given index.
func (n *Network) Address(host int) string { return addressOf(host) }

// Namespace returns the network namespace of the host with the given index. The network owns it.
func (n *Network) Namespace(host int) *os.File { return n.namespaces[host] }

// ForwarderPID returns the ID of the process that moves packets between hosts.
func (n *Network) ForwarderPID() int { return n.forwarder.process.PID() }

// Trips returns the round trips that Start measured.
func (n *Network) Trips() Trips { return n.trips }

func (n *Network) each(do func(host int) error) error {
	var errs []error
	for i, namespace := range n.namespaces {
		if err := inside(namespace, func() error { return do(i) }); err != nil {
			errs = append(errs, fmt.Errorf("host %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}
