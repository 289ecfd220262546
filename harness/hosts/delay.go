package hosts

import "time"

// packetsMax is the capacity of a delayLine. A packet that finds the line full is dropped and
// counted.
const packetsMax = 16384

// delayLine holds packets in transit, each for the same time, in order of arrival. It is not safe
// for concurrent use. It does not allocate after its creation.
type delayLine struct {
	delay time.Duration
	slots []slot // a ring buffer
	first int    // index of the oldest packet
	held  int
}

type slot struct {
	due  time.Duration // on the clock of the caller
	to   int
	size int
	data [mtu]byte
}

func newDelayLine(packets int, delay time.Duration) *delayLine {
	return &delayLine{delay: delay, slots: make([]slot, packets)}
}

// free returns the buffer for the next packet; nil if the line is full. The packet is not in the
// line until push.
func (l *delayLine) free() []byte {
	if l.held == len(l.slots) {
		return nil
	}
	return l.slots[(l.first+l.held)%len(l.slots)].data[:]
}

// push adds the packet in the buffer of free, which arrived at the time came and is for host to.
func (l *delayLine) push(size, to int, came time.Duration) {
	s := &l.slots[(l.first+l.held)%len(l.slots)]
	s.size, s.to, s.due = size, to, came+l.delay
	l.held++
}

// due returns when the oldest packet must be delivered, and whether there is one.
func (l *delayLine) due() (at time.Duration, held bool) {
	if l.held == 0 {
		return 0, false
	}
	return l.slots[l.first].due, true
}

// pop removes and returns the oldest packet. The data is valid until the next push.
func (l *delayLine) pop() (data []byte, to int) {
	s := &l.slots[l.first]
	l.first = (l.first + 1) % len(l.slots)
	l.held--
	return s.data[:s.size], s.to
}
