package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killTimeout bounds the wait for a process to end after SIGKILL. Only one that the kernel cannot interrupt takes longer
// than an instant.
const killTimeout = 10 * time.Second

// Process is a child process. It is reaped as soon as it ends, and the processes that it started and left are killed.
// Its methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it was reaped; cmd.ProcessState and err are read only after that
	err  error
}

// Start starts a command, whose outputs must be files. The caller must not use the command afterwards. Start replaces its
// SysProcAttr.
//
// The process is killed when this one dies, however it dies. Linux ties that to the operating system's thread that started
// it: were the thread to end, the process would be killed. So the process is started on a thread of its own, which ends when the process
// was reaped. The process also gets a group of its own, because Ctrl-C in a terminal goes to the whole group in front: the
// harness gets it alone, and ends the process in its own order.
func Start(cmd *exec.Cmd) (*Process, error) { return StartWith(Settings{}, cmd) }

// Settings replace what a process would inherit from this one. Its own children inherit them in
// turn.
type Settings struct {
	CPUs       []int    // the only ones that the process may use; empty means those that this process may use
	Namespace  *os.File // the network namespace, which stays the caller's; nil means that of this process
	SmallPages bool     // the kernel maps program code and memory by small pages only, see inSmallPages
}

// StartWith is Start with settings.
func StartWith(s Settings, cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	// The thread may be confined and in another namespace from now on.
	OnThread(func() {
		err := confine(s.CPUs)
		if err == nil {
			err = enter(s.Namespace)
		}
		if err == nil {
			err = inPages(s.SmallPages, cmd.Start)
		}
		started <- err
		if err != nil {
			return
		}
		defer close(p.done)
		p.err = p.wait()
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// confine lets the calling thread use some CPUs only, if there are any. A process inherits the CPUs of the thread that starts it.
func confine(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var only unix.CPUSet
	for _, cpu := range cpus {
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("confine it to the CPUs %v: %w", cpus, err)
	}
	return nil
}

// enter puts the calling thread into a network namespace, if it is not nil. A process inherits that of the thread that starts it.
func enter(namespace *os.File) error {
	if namespace == nil {
		return nil
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("start it in another network namespace: %w", err)
	}
	return nil
}

// wait waits until the process has ended, kills what is left of its group and reaps it.
func (p *Process) wait() error {
	pid := p.PID()
	var errs []error
	if err := awaitEnd(pid); err != nil {
		errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
	} else if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		// Until the process is reaped its id is no other group's.
		errs = append(errs, fmt.Errorf("kill process group %d: %w", pid, err))
	}
	if err := p.cmd.Wait(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// awaitEnd returns when a child has ended, and does not reap it.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// PID is the process's id, which is its group's too.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Err is what went wrong besides the process's own status: with the wait for its end, or with the end of what it started.
// It is nil while the process runs.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Orderly reports whether the process has ended with status 0, and nothing else went wrong.
func (p *Process) Orderly() bool { return p.Ended() && p.err == nil && p.cmd.ProcessState.Success() }

// ExitCode is the status that the process ended with; -1 while it runs, of one that a signal ended, and where it is unknown.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Status says in words how the process ended: "exit status 3", "signal: killed"; "running" while it runs, and "unknown" where
// the wait for its end failed.
func (p *Process) Status() string {
	switch {
	case !p.Ended():
		return "running"
	case p.cmd.ProcessState == nil: // Err says why
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// CPU is the CPU time, user and system, that the process and those of its children that it reaped had used when it ended; 0
// while it runs.
func (p *Process) CPU() time.Duration {
	if !p.Ended() || p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the process alone, unless it has ended, which is not an error.
func (p *Process) Signal(sig os.Signal) error {
	// The process may end at this moment; os.Process knows that, and never signals another one that was given the same id.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill ends the process with SIGKILL unless it has ended, and returns Err when it has: an instant later, and after 10 s at
// most, with an error where it has not.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !p.endsWithin(killTimeout) {
		return fmt.Errorf("process %d has not ended within %s of SIGKILL", p.PID(), killTimeout)
	}
	return p.err
}

// End ends the process with SIGTERM, and when it has not ended after grace as Kill does. It returns Err when it has ended.
func (p *Process) End(grace time.Duration) error {
	// A stopped process gets no other signal until it goes on.
	err := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT))
	if err == nil && p.endsWithin(grace) {
		return p.err
	}
	return errors.Join(err, p.Kill())
}

func (p *Process) endsWithin(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// Environ is this process's environment without the variables whose names begin with one of the prefixes: those that would
// configure the program, where a scenario says all that counts. A prefix that ends with "=" is a whole name.
func Environ(without ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
