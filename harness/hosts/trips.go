package hosts

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// pingsOfFloor and pingsOfTrip are the numbers of sequential echo requests between each pair of
	// hosts, without and with added delay. If they would take longer than pingsFor, fewer are sent,
	// but at least pingsLeast.
	pingsOfFloor, pingsOfTrip = 50, 100
	pingsFor                  = 2 * time.Second
	pingsLeast                = 10
	// pingPause is the time between two echo requests. With this pause the hosts are as idle as
	// between heartbeats.
	pingPause = time.Millisecond
	// pingTimeout plus the round trip is the timeout of an echo request.
	pingTimeout = 100 * time.Millisecond
)

func pingsAt(trip time.Duration) int {
	return min(pingsOfTrip, max(pingsLeast, int(pingsFor/(trip+pingPause))))
}

// ping measures round trips between each pair of hosts, in one direction. All pairs are measured at
// the same time.
func (n *Network) ping(ctx context.Context, count int) (trips, error) {
	type pair struct {
		trips
		err error
	}
	var pairs []*pair
	var all sync.WaitGroup
	for from := range n.namespaces {
		for to := from + 1; to < len(n.namespaces); to++ {
			p, id := &pair{}, len(pairs)
			pairs = append(pairs, p)
			all.Go(func() { p.trips, p.err = n.pingPair(ctx, from, to, id, count) })
		}
	}
	all.Wait()
	var sum trips
	var errs []error
	for _, p := range pairs {
		sum.all, sum.lost = append(sum.all, p.all...), sum.lost+p.lost
		errs = append(errs, p.err)
	}
	if err := errors.Join(errs...); err != nil {
		return trips{}, err
	}
	if len(sum.all) == 0 {
		return trips{}, errors.New("no host answers another: the forwarder, or a firewall in the hosts' namespaces, blocks all packets")
	}
	return sum, nil
}

func (n *Network) pingPair(ctx context.Context, from, to, id, count int) (t trips, err error) {
	var p *pinger
	err = inside(n.namespaces[from], func() (err error) {
		p, err = newPinger(addressOf(to), id)
		return err
	})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	pause := time.NewTicker(pingPause)
	defer pause.Stop()
	for range count {
		trip, answered, err := p.ping(n.config.Want.RoundTrip + pingTimeout)
		if err != nil {
			return t, err
		}
		if answered {
			t.all = append(t.all, trip)
		} else {
			t.lost++
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
	return t, nil
}
