package k6

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killTimeout bounds the wait for a process to end after SIGKILL.
const killTimeout = 10 * time.Second

// child is a process and what it starts, which are a process group of their own.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process was reaped, and the rest of its group killed
	err  error         // of waiting; read only after done
}

// startChild starts a command whose outputs go to files. It is killed when this process dies, however it dies: Linux ties
// that to the thread that started it, so a goroutine keeps its thread until the child has ended.
func startChild(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(c.done)
		// Until it is reaped its id is no other group's, so what is left of the group can be killed.
		c.err = errors.Join(waitForEnd(cmd.Process.Pid), c.signal(syscall.SIGKILL))
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			c.err = errors.Join(c.err, err)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

// waitForEnd returns when a child has ended, and does not reap it.
func waitForEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// signal sends a signal to the group, unless nothing of it is left. It must not be called once the process is reaped.
func (c *child) signal(sig syscall.Signal) error {
	if err := syscall.Kill(-c.pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process group %d: %w", sig, c.pid(), err)
	}
	return nil
}

// end ends the group: SIGTERM, and after so long SIGKILL. It returns when the process is reaped.
func (c *child) end(grace time.Duration) error {
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killTimeout}} {
		if c.ended() {
			return c.err
		}
		if err := c.signalProcess(step.sig); err != nil {
			return err
		}
		timer := time.NewTimer(step.wait)
		select {
		case <-c.done:
			timer.Stop()
			return c.err
		case <-timer.C:
		}
	}
	return fmt.Errorf("process %d has not ended within %s of SIGKILL", c.pid(), killTimeout)
}

// signalProcess sends a signal to the process alone, which may be reaped at this moment: os.Process knows that.
func (c *child) signalProcess(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, c.pid(), err)
	}
	return nil
}
