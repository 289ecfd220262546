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

// killTimeout bounds the wait for a process to end after SIGKILL. A process takes longer than an
// instant only if the kernel cannot interrupt it.
const killTimeout = 10 * time.Second

// Process is a child process. It is reaped when it ends, and remaining processes of its group are
// killed. It is safe for concurrent use.
type Process struct {
	cmd *exec.Cmd
	// done is closed when the process was reaped. cmd.ProcessState and err may be read only after
	// that.
	done chan struct{}
	err  error
}

// Start starts a command, whose outputs must be files. The caller must not use the command
// afterwards. Start replaces its SysProcAttr.
//
// The process is killed when this process dies for any reason. Linux ties this to the OS thread
// that started the process: if the thread ended, the process would be killed. Therefore a dedicated
// thread starts the process and ends after it was reaped. The process also gets a separate process
// group, because Ctrl-C in a terminal goes to the whole foreground group. Only the harness gets it,
// and ends the process in its own order.
func Start(cmd *exec.Cmd) (*Process, error) { return StartWith(Settings{}, cmd) }

// Settings are process attributes that a child would otherwise inherit from this process. Its own
// children inherit them.
type Settings struct {
	CPUs       []int    // CPUs that the process may use; empty means the CPUs of this process
	Namespace  *os.File // network namespace, owned by the caller; nil means that of this process
	SmallPages bool     // map program code and memory with small pages only, see inSmallPages
}

// StartWith is Start with settings.
func StartWith(s Settings, cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	// The function may restrict the CPUs of the thread and move it to another namespace.
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

// confine restricts the calling thread to the given CPUs; an empty list has no effect. A process
// inherits the CPUs of the thread that starts it.
func confine(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var only unix.CPUSet
	for _, cpu := range cpus {
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("restrict it to the CPUs %v: %w", cpus, err)
	}
	return nil
}

// enter moves the calling thread to a network namespace, unless it is nil. A process inherits the
// namespace of the thread that starts it.
func enter(namespace *os.File) error {
	if namespace == nil {
		return nil
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("start it in another network namespace: %w", err)
	}
	return nil
}

// wait waits until the process has ended, kills the rest of its group and reaps it.
func (p *Process) wait() error {
	pid := p.PID()
	var errs []error
	if err := awaitEnd(pid); err != nil {
		errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
	} else if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		// Until the process is reaped, no other group can get its id.
		errs = append(errs, fmt.Errorf("kill process group %d: %w", pid, err))
	}
	if err := p.cmd.Wait(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// awaitEnd returns when a child has ended, without reaping it.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// PID returns the process id, which is also the id of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended and was reaped.
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

// Err returns errors other than the exit status: of the wait for the end, or of the end of the
// process group. It is nil while the process runs.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Orderly reports whether the process has ended with status 0 and without other errors.
func (p *Process) Orderly() bool { return p.Ended() && p.err == nil && p.cmd.ProcessState.Success() }

// ExitCode returns the exit status. It is -1 while the process runs, after an end by a signal, and
// if the status is unknown.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Status describes the state of the process: "exit status 3", "signal: killed"; "running" while it
// runs, and "unknown" if the wait for its end failed.
func (p *Process) Status() string {
	switch {
	case !p.Ended():
		return "running"
	case p.cmd.ProcessState == nil: // Err returns the reason
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// CPU returns the user and system CPU time that the process and its reaped children had used at its
// end; 0 while it runs.
func (p *Process) CPU() time.Duration {
	if !p.Ended() || p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal to the process only, not to its group. It returns nil if the process has
// ended.
func (p *Process) Signal(sig os.Signal) error {
	// The process may end concurrently. os.Process never signals another process that got the same
	// id.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill ends the process with SIGKILL unless it has ended. It returns Err when the process has
// ended, which takes an instant, or an error after 10 s.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !p.endsWithin(killTimeout) {
		return fmt.Errorf("process %d did not end within %s of SIGKILL", p.PID(), killTimeout)
	}
	return p.err
}

// End ends the process with SIGTERM, and like Kill if it has not ended after grace. It returns Err
// when the process has ended.
func (p *Process) End(grace time.Duration) error {
	// A stopped process handles no signal except SIGCONT and SIGKILL.
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

// Environ returns this process's environment without the variables whose names begin with one of
// the prefixes. It removes variables that would configure the program in addition to the scenario.
// A prefix that ends with "=" is a whole name.
func Environ(without ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
