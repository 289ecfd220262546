package topology

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// killTimeout bounds the wait for a process to end after SIGKILL. Only one that the kernel cannot
// interrupt takes longer than an instant.
const killTimeout = 10 * time.Second

// life is what a server runs as: a process of its own, or a part of this one.
type life interface {
	// done is closed when it has ended.
	done() <-chan struct{}
	// signal sends a signal unless it has ended, which is not an error.
	signal(sig os.Signal) error
	// kill ends it at once, and returns when it has ended.
	kill() error
	// After its end: why it did not end in order, how it ended in words, and the CPU time that it used of its own.
	failure() error
	status() string
	cpu() time.Duration
}

// process is a child process. It is reaped as soon as it ends.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it was reaped; cmd.ProcessState and waitErr are read only after that
	// waitErr is what Wait returned: nil for status 0, *exec.ExitError for any other end.
	waitErr error
}

// startProcess starts command with both of its outputs going to log.
//
// The child is killed when this process dies, however it dies. Linux ties that to the operating
// system thread that started the child: were the thread to end, the child would be killed. So the
// goroutine that starts the child keeps its thread until it has reaped it. The child also gets a
// process group of its own, because Ctrl-C in a terminal goes to the whole group in front: the
// harness gets it alone, and ends the child in its own order.
func startProcess(command, env []string, log *os.File) (*process, error) {
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append(ownEnv(), env...)
	p.cmd.Stdout = log
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.waitErr = p.cmd.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	return p, nil
}

// ownEnv is this process's environment without what would configure the server: a scenario says all that counts.
func ownEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "QUEUED_") })
}

func (p *process) done() <-chan struct{} { return p.exited }

func (p *process) failure() error { return p.waitErr }

func (p *process) status() string { return p.cmd.ProcessState.String() }

func (p *process) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// signal sends sig unless the process has ended, which is not an error.
func (p *process) signal(sig os.Signal) error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	// The process may end at this moment; os.Process knows that, and never signals another one that
	// was given the same id.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, p.cmd.Process.Pid, err)
	}
	return nil
}

// kill sends SIGKILL and waits until the process is reaped.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d has not ended within %s of SIGKILL", p.cmd.Process.Pid, killTimeout)
	}
}
