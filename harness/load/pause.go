package load

import (
	"context"
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

// kernelPause waits on a timer of the kernel, which the runtime waits for as for a connection: it is some tens of
// microseconds late, and takes no processor meanwhile.
type kernelPause struct {
	fd   int
	file *os.File
	stop func() bool
}

// pauseLeast is the shortest wait: several tasks that are due within it are sent together, since waking up for each of
// a hundred thousand a second would take a processor of its own.
const pauseLeast = 50 * time.Microsecond

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
	after := unix.NsecToTimespec(max(ns, int64(pauseLeast)))
	var expirations [8]byte
	if err := unix.TimerfdSettime(p.fd, 0, &unix.ItimerSpec{Value: after}, nil); err == nil {
		if _, err = p.file.Read(expirations[:]); err == nil {
			return
		}
	}
	if ctx.Err() == nil {
		timerPause{}.pause(ctx, ns)
	}
}

func (p *kernelPause) close() error {
	p.stop()
	return p.file.Close()
}
