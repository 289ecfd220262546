package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pauser waits for a number of nanoseconds, or until ctx is done. It may return early. It need not
// be safe for concurrent use.
type pauser interface {
	pause(ctx context.Context, ns int64)
}

// timerPause waits on a timer of the Go runtime. In an idle process such a timer expires up to a
// millisecond late, because the runtime then waits for the network in whole milliseconds.
type timerPause struct{}

func (timerPause) pause(ctx context.Context, ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// kernelPause waits on a kernel timer, which the runtime polls like a connection. In an idle
// process it expires some tens of microseconds late and uses no CPU. A busy runtime checks its own
// timers more often than connections, so kernelPause also sets a read deadline, which is a runtime
// timer.
type kernelPause struct {
	fd   int
	file *os.File
	stop func() bool
}

// pauseLeast is the shortest wait. Tasks that become due during one wait are sent together. Each
// wait costs about 25 us of CPU time. At many thousand tasks a second, a separate wait for each
// task would occupy a whole CPU.
const pauseLeast = 100 * time.Microsecond

// newKernelPause returns a kernelPause whose waits end when ctx is done.
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
		return // AfterFunc may have set its deadline before the deadline above
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

// interruptible is a kernelPause whose waits also end when their own ctx is done. An interruption
// can make the next wait return early.
type interruptible struct{ *kernelPause }

func (p interruptible) pause(ctx context.Context, ns int64) {
	defer context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })()
	p.kernelPause.pause(ctx, ns)
}
