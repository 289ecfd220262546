package hosts

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// device is a forwarder's connection to one host. Each read and each write transfers one packet.
// Both return unix.EAGAIN if they would block.
type device interface {
	read(into []byte) (int, error)
	write(packet []byte) error
}

// forwarder moves packets between hosts, and delays each packet by half a round trip. It is a
// single loop on one thread.
type forwarder struct {
	hosts []device
	line  *delayLine
	now   func() time.Duration // any monotonic clock
	// lead is how long before the delivery of a packet a wait ends. It is needed because a thread
	// wakes up late. The forwarder polls its clock during the lead.
	lead time.Duration
	// wait returns after the time most, or earlier if a device is readable. It sets one element of
	// readable for each device. If most is negative, the time is not limited. requested reports
	// whether the parent has sent a request.
	wait func(most time.Duration, readable []bool) (requested bool, err error)

	readable []bool
	spare    [mtu]byte // for a packet that arrives while the line is full
	counts   counts
}

// readsInTurn is the number of packets that are read from one host before the next host is read.
// Packets that are due are delivered only after all hosts were read.
const readsInTurn = 16

// counts contains the counters of a forwarder since their last reset.
type counts struct {
	forwarded  uint64
	overflowed uint64 // packets dropped because the line was full
	unwritten  uint64 // packets that the destination's device refused
	late       *hdrhistogram.Histogram
}

// lateMost is the largest lateness that the histogram can contain, in nanoseconds.
const lateMost = int64(10 * time.Second)

func newCounts() counts { return counts{late: hdrhistogram.New(1, lateMost, 3)} }

func newForwarder(hosts []device, packets int) *forwarder {
	return &forwarder{hosts: hosts, line: newDelayLine(packets, 0), readable: make([]bool, len(hosts)), counts: newCounts()}
}

// run forwards packets until request returns false. It calls request for each request that the
// parent has sent.
func (f *forwarder) run(request func() (goOn bool, err error)) error {
	for {
		if err := f.deliver(); err != nil {
			return err
		}
		asked, err := f.wait(f.pause(), f.readable)
		if err != nil {
			return err
		}
		for i, is := range f.readable {
			if is {
				if err := f.take(i); err != nil {
					return err
				}
			}
		}
		if asked {
			if goOn, err := request(); !goOn || err != nil {
				return err
			}
		}
	}
}

// pause returns how long the forwarder may sleep. It returns a negative time if there is no packet.
func (f *forwarder) pause() time.Duration {
	due, held := f.line.due()
	if !held {
		return -1
	}
	return max(0, due-f.now()-f.lead)
}

func (f *forwarder) deliver() error {
	for {
		due, held := f.line.due()
		if !held {
			return nil
		}
		late := f.now() - due
		if late < 0 {
			return nil
		}
		packet, to := f.line.pop()
		switch err := f.hosts[to].write(packet); {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			f.counts.unwritten++
			continue
		case err != nil:
			return fmt.Errorf("deliver a packet to host %d: %w", to+1, err)
		}
		f.counts.forwarded++
		// cannot fail: the value is in the range of the histogram
		_ = f.counts.late.RecordValue(min(int64(late), lateMost))
	}
}

func (f *forwarder) take(from int) error {
	for range readsInTurn {
		into := f.line.free()
		full := into == nil
		if full {
			into = f.spare[:]
		}
		size, err := f.hosts[from].read(into)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a packet of host %d: %w", from+1, err)
		}
		to, known := indexOf(into[:size], len(f.hosts))
		switch {
		case !known: // for example the kernel's IPv6 announcements
		case full:
			f.counts.overflowed++
		default:
			f.line.push(size, to, f.now())
		}
	}
	return nil
}

// report is the forwarder's answer to a request.
type report struct {
	Forwarded  uint64  `json:"forwarded"`
	Overflowed uint64  `json:"overflowed"`
	Unwritten  uint64  `json:"unwritten"`
	LateUsP50  float64 `json:"late_us_p50"`
	LateUsP99  float64 `json:"late_us_p99"`
	LateUsMax  float64 `json:"late_us_max"`
	RealTime   bool    `json:"real_time"`
	Error      string  `json:"error,omitempty"`
}

func (c *counts) report() report {
	us := func(ns int64) float64 { return math.Round(float64(ns)/100) / 10 }
	return report{
		Forwarded: c.forwarded, Overflowed: c.overflowed, Unwritten: c.unwritten,
		LateUsP50: us(c.late.ValueAtPercentile(50)), LateUsP99: us(c.late.ValueAtPercentile(99)), LateUsMax: us(c.late.Max()),
	}
}
