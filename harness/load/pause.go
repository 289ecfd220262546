package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pauser waits for a number of nanoseconds, or until ctx is done. It may return early. One goroutine at a time
// calls it.
type pauser interface {
	pause(ctx context.Context, ns int64)
}

// timerPause waits on the Go runtime's timers. Those of a process that has nothing else to do are up to a
// millisecond late, since it then waits for the network in whole milliseconds.
type timerPause struct{}

func (timerPause) pause(ctx context.Context, ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// kernelPause waits on a timer of the kernel, which the runtime waits for as for a connection: in a process that idles
// it is some tens of microseconds late, and takes no processor meanwhile. In one that is busy the runtime looks at its
// own timers more often than at connections, so it has one of them too, as the deadline for reading.
type kernelPause struct {
	fd   int
	file *os.File
	stop func() bool
}

// pauseLeast is the shortest wait: several tasks that are due within it are sent together. Going to sleep and waking up
// takes a process some 25 us of CPU time, so that doing it for each of many thousands a second would take a processor
// of its own.
const pauseLeast = 100 * time.Microsecond

// newKernelPause returns a pause whose waits end when ctx is done.
func newKernelPause(ctx context.Context) (*kernelPause, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make the schedule's timer: %w", err)
	}
	p := &kernelPause{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	p.stop = context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	return p, nil
}

func (p *kernelPause) pause(ctx context.Context, ns int64) {
	ns = max(ns, int64(pauseLeast))
	err := unix.TimerfdSettime(p.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(ns)}, nil)
	if err == nil {
		err = p.file.SetReadDeadline(time.Now().Add(time.Duration(ns)))
	}
	if ctx.Err() != nil {
		return // which may have come before the deadline was set
	}
	var expirations [8]byte
	if err == nil {
		_, err = p.file.Read(expirations[:])
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		timerPause{}.pause(ctx, ns)
	}
}

func (p *kernelPause) close() error {
	p.stop()
	return p.file.Close()
}

// interruptible is a kernelPause for waits that end with their own context too. One that is interrupted may make the next
// return early.
type interruptible struct{ *kernelPause }

func (p interruptible) pause(ctx context.Context, ns int64) {
	defer context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })()
	p.kernelPause.pause(ctx, ns)
}
