package hosts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// command is the first argument of the forwarder's process. The second argument is the number
	// of hosts.
	command = "forward"
	// childEnv is set only for the forwarder's process, so that users cannot run the command by
	// mistake.
	childEnv = "PRONY_HOSTS_FORWARDER"
	// firstDevice is the file descriptor of the first host's device. The descriptors of the other
	// devices follow it.
	firstDevice = 3
)

// request is a request of the parent, encoded as a line of JSON. The forwarder answers each request
// by a report, which is also a line of JSON.
type request struct {
	DelayNs int64 `json:"delay_ns"`
	Begin   bool  `json:"begin"` // reset the counters after the answer
}

const requestMax = 4 << 10

// IsChild reports whether a command line belongs to the forwarder's process.
func IsChild(args []string) bool {
	return len(args) == 3 && args[1] == command && os.Getenv(childEnv) != ""
}

// Main runs the forwarder's process and returns its exit code. The exit code is 0 if the parent
// ended the process.
func Main(args []string, stdin *os.File, stdout, stderr io.Writer) int {
	if err := forward(args, stdin, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func forward(args []string, stdin *os.File, stdout io.Writer) error {
	hosts, err := strconv.Atoi(args[2])
	if err != nil || hosts < 2 {
		return fmt.Errorf("%q is not a number of hosts", args[2])
	}
	runtime.LockOSThread()      // the forwarder uses a single thread
	debug.SetGCPercent(-1)      // the loop allocates nothing, so no garbage collection is needed
	realTime := prefer() == nil // the report tells the parent if permission is missing
	p := &poller{stdin: int32(stdin.Fd())}
	var devices []device
	for i := range hosts {
		if err := unix.SetNonblock(firstDevice+i, true); err != nil {
			return fmt.Errorf("use the device of host %d: %w", i+1, err)
		}
		devices = append(devices, descriptor(firstDevice+i))
		p.fds = append(p.fds, unix.PollFd{Fd: int32(firstDevice + i), Events: unix.POLLIN})
	}
	p.fds = append(p.fds, unix.PollFd{Fd: p.stdin, Events: unix.POLLIN})
	f := newForwarder(devices, packetsMax)
	began := time.Now()
	f.now, f.wait = func() time.Duration { return time.Since(began) }, p.wait
	if f.lead, err = lateness(f.now); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(stdin, requestMax)
	answers := json.NewEncoder(stdout)
	return f.run(func() (bool, error) {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		var r request
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return false, fmt.Errorf("read a request: %w", err)
		}
		answer := f.counts.report()
		answer.RealTime = realTime
		f.line.delay = time.Duration(r.DelayNs)
		if r.Begin {
			f.counts = newCounts()
		}
		return true, answers.Encode(answer)
	})
}

// prefer sets real-time priority and precise timers for the calling thread. A packet then does not
// wait until its sender releases the CPU.
func prefer() error {
	return errors.Join(
		unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0),
		unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1}, 0))
}

// leadMax bounds how long the forwarder polls its clock before it delivers a packet.
const leadMax = 200 * time.Microsecond

// lateness returns how late this thread wakes up from a sleep, as the 90th percentile. The sleeps
// are long enough for an idle CPU to halt, which makes the wake-up slower.
func lateness(now func() time.Duration) (time.Duration, error) {
	const sleeps, sleep = 50, time.Millisecond
	var late []time.Duration
	for range sleeps {
		due := now() + sleep
		limit := unix.NsecToTimespec(int64(sleep))
		if _, err := unix.Ppoll(nil, &limit, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("measure how late a sleep ends: %w", err)
		}
		late = append(late, now()-due)
	}
	slices.Sort(late)
	return max(0, min(leadMax, late[sleeps*9/10])), nil
}

type descriptor int

func (d descriptor) read(into []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), into)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (d descriptor) write(packet []byte) error {
	for {
		_, err := unix.Write(int(d), packet)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

type poller struct {
	stdin int32
	fds   []unix.PollFd // devices of the hosts, followed by stdin
}

func (p *poller) wait(most time.Duration, readable []bool) (requested bool, err error) {
	var limit *unix.Timespec
	if most >= 0 {
		of := unix.NsecToTimespec(int64(most))
		limit = &of
	}
	_, err = unix.Ppoll(p.fds, limit, nil)
	if errors.Is(err, unix.EINTR) {
		err = nil
		for i := range p.fds {
			p.fds[i].Revents = 0
		}
	}
	if err != nil {
		return false, fmt.Errorf("wait for packets: %w", err)
	}
	for i := range readable {
		readable[i] = p.fds[i].Revents != 0
	}
	return p.fds[len(readable)].Revents != 0, nil
}
