package fault

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Cut says what a flow does with what is sent through it.
type Cut int

const (
	// Pass lets everything through.
	Pass Cut = iota
	// Drop lets nothing through and tells nobody, as when a cable is pulled. What was sent meanwhile arrives once the
	// flow passes again, as TCP would send it again, unless a connection has ended by then at both ends.
	Drop
	// Reset resets the connections that use the flow, and every new one.
	Reset
)

// Conditions are what a flow does to what is sent through it. The zero value is that of a sound network.
type Conditions struct {
	Cut       Cut
	Delay     time.Duration // each byte arrives so much later
	Jitter    time.Duration // and up to so much more; the order stays
	BytesPerS float64       // all connections together; 0: no limit
}

// flow is what one node sends another, over whatever connections, whichever of the two opened them.
type flow struct {
	mu      sync.Mutex
	now     Conditions
	changed chan struct{} // closed when the conditions change, and replaced
	next    time.Time     // when the next byte may pass, of a flow with a rate
	bytes   uint64        // that have passed
}

func newFlow() *flow { return &flow{changed: make(chan struct{})} }

func (f *flow) set(c Conditions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.next = c, time.Time{}
	close(f.changed)
	f.changed = make(chan struct{})
}

// conditions returns those of now, and what is closed when they change.
func (f *flow) conditions() (Conditions, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.changed
}

// due is when bytes that are sent now arrive.
func (f *flow) due() time.Time {
	c, _ := f.conditions()
	late := c.Delay
	if c.Jitter > 0 {
		late += rand.N(c.Jitter)
	}
	if late == 0 {
		return time.Time{}
	}
	return time.Now().Add(late)
}

// pass waits until n bytes may pass. It returns false when done is closed before.
func (f *flow) pass(n int, done <-chan struct{}) bool {
	for {
		c, changed := f.conditions()
		var wait <-chan time.Time
		if c.Cut == Pass {
			left := f.reserve(n)
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
		case <-changed: // whatever was reserved was so under other conditions
		case <-done:
			return false
		}
	}
}

// reserve takes n bytes of the flow's rate and returns how long it is until they may pass.
func (f *flow) reserve(n int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now.BytesPerS <= 0 {
		return 0
	}
	now := time.Now()
	if f.next.Before(now) {
		f.next = now
	}
	left := f.next.Sub(now)
	f.next = f.next.Add(time.Duration(float64(n) / f.now.BytesPerS * float64(time.Second)))
	return left
}

// add counts bytes that have passed.
func (f *flow) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += uint64(n)
}

func (f *flow) passed() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}

// sleepUntil waits until a time; it returns false when done is closed before.
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
