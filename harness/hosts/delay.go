package hosts

import "time"

// packetsMax is how many packets a delayLine holds. A packet that finds the line full is dropped, and counted.
const packetsMax = 16384

// delayLine holds packets that are on their way, each for the same time, in the order in which they came. Its methods are called from one
// goroutine. It allocates nothing after its creation.
type delayLine struct {
	delay time.Duration
	slots []slot // a ring
	first int    // of the oldest packet
	held  int
}

// slot is one packet with the host that it goes to.
type slot struct {
	due  time.Duration // on the clock of the caller
	to   int
	size int
	data [mtu]byte
}

func newDelayLine(packets int, delay time.Duration) *delayLine {
	return &delayLine{delay: delay, slots: make([]slot, packets)}
}

// free returns where the bytes of the next packet are to be read into; nil if the line is full. They stay no packet until push.
func (l *delayLine) free() []byte {
	if l.held == len(l.slots) {
		return nil
	}
	return l.slots[(l.first+l.held)%len(l.slots)].data[:]
}

// push takes the packet that was read into free, which came at a moment and goes to a host.
func (l *delayLine) push(size, to int, came time.Duration) {
	s := &l.slots[(l.first+l.held)%len(l.slots)]
	s.size, s.to, s.due = size, to, came+l.delay
	l.held++
}

// due returns when the oldest packet is to be delivered, and whether there is one.
func (l *delayLine) due() (at time.Duration, held bool) {
	if l.held == 0 {
		return 0, false
	}
	return l.slots[l.first].due, true
}

// pop returns the oldest packet, which is valid until the next push.
func (l *delayLine) pop() (data []byte, to int) {
	s := &l.slots[l.first]
	l.first = (l.first + 1) % len(l.slots)
	l.held--
	return s.data[:s.size], s.to
}
