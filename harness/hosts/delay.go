package hosts

import "time"

// packetsMax is the capacity of a delayLine. If the line is full, a packet is dropped and counted.
const packetsMax = 16384

// delayLine contains the packets in transit in the order of their arrival. Each packet is delayed
// by the same time. A delayLine is not safe for concurrent use. After its creation it allocates no
// memory.
type delayLine struct {
	delay time.Duration
	slots []slot // ring buffer
	first int    // index of the oldest packet
	held  int
}

type slot struct {
	due  time.Duration // time of delivery, by the clock of the caller
	to   int
	size int
	data [mtu]byte
}

func newDelayLine(packets int, delay time.Duration) *delayLine {
	return &delayLine{delay: delay, slots: make([]slot, packets)}
}

// free returns the buffer for the next packet, or nil if the line is full. The packet is in the
// line only after push is called.
func (l *delayLine) free() []byte {
	if l.held == len(l.slots) {
		return nil
	}
	return l.slots[(l.first+l.held)%len(l.slots)].data[:]
}

// push adds the packet that the caller has written to the buffer of free. came is the time when it
// arrived, and to is the host that receives it.
func (l *delayLine) push(size, to int, came time.Duration) {
	s := &l.slots[(l.first+l.held)%len(l.slots)]
	s.size, s.to, s.due = size, to, came+l.delay
	l.held++
}

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
