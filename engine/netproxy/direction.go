package netproxy

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Cut determines what happens to the bytes that are sent in a direction.
type Cut int

const (
	// Pass forwards all bytes.
	Pass Cut = iota
	// Drop forwards no bytes and reports no error, like an unplugged cable. As with TCP
	// retransmission, the bytes arrive when the direction passes bytes again, unless both ends have
	// closed the connection before.
	Drop
	// Reset resets all connections that use the direction, including new connections.
	Reset
)

// Conditions describes the network in one direction. The zero value is a healthy network.
type Conditions struct {
	Cut       Cut
	Delay     time.Duration // additional latency of each byte
	Jitter    time.Duration // maximum of a further, random latency; the order of bytes is preserved
	BytesPerS float64       // bytes per second for all connections together; 0 means no limit
}

// direction is the traffic from one node to another over all connections, whichever node opened
// them.
type direction struct {
	mu      sync.Mutex
	now     Conditions
	changed chan struct{} // closed when the conditions change, and replaced
	next    time.Time     // the time at which the next byte may pass, if BytesPerS is set
}

func newDirection() *direction { return &direction{changed: make(chan struct{})} }

func (d *direction) set(c Conditions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now, d.next = c, time.Time{}
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *direction) conditions() (Conditions, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now, d.changed
}

func (d *direction) due() time.Time {
	c, _ := d.conditions()
	late := c.Delay
	if c.Jitter > 0 {
		late += rand.N(c.Jitter)
	}
	if late == 0 {
		return time.Time{}
	}
	return time.Now().Add(late)
}

// pass waits until n bytes may pass. It returns false if done is closed before.
func (d *direction) pass(n int, done <-chan struct{}) bool {
	for {
		c, changed := d.conditions()
		var wait <-chan time.Time
		if c.Cut == Pass {
			left := d.reserve(n)
			if left <= 0 {
				select {
				case <-done:
					return false
				default:
					return true
				}
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			wait = timer.C
		}
		select {
		case <-wait:
			return true
		case <-changed: // try again: the reservation was for the old conditions
		case <-done:
			return false
		}
	}
}

func (d *direction) reserve(n int) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now.BytesPerS <= 0 {
		return 0
	}
	now := time.Now()
	if d.next.Before(now) {
		d.next = now
	}
	left := d.next.Sub(now)
	d.next = d.next.Add(time.Duration(float64(n) / d.now.BytesPerS * float64(time.Second)))
	return left
}

// sleepUntil waits until the time at. It returns false if done is closed before.
func sleepUntil(at time.Time, done <-chan struct{}) bool {
	left := time.Until(at)
	if at.IsZero() || left <= 0 {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}
