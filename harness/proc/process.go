package proc

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

	"golang.org/x/sys/unix"
)

// killTimeout bounds the wait for a process to end after SIGKILL. A process normally ends
// instantly; it takes longer only if the kernel cannot interrupt it.
const killTimeout = 10 * time.Second

// Process is a child process. When it ends, the remaining processes of its group are killed, and it
// is reaped. It is safe for concurrent use.
type Process struct {
	cmd *exec.Cmd
	// done is closed when the process has been reaped. cmd.ProcessState and err may be read only
	// after that.
	done chan struct{}
	err  error
}

// Start starts a command. Its outputs must be files. The caller must not use the command
// afterwards. Start replaces the command's SysProcAttr.
//
// The process is killed when this process dies for any reason. Linux implements this for the OS
// thread that started the process: if that thread ended, the process would be killed. Therefore a
// dedicated thread starts the process, and this thread ends only after the process has been reaped.
// The process also gets its own process group, because Ctrl-C in a terminal signals the whole
// foreground group. This way only the harness receives the signal, and it ends the process when it
// is ready to.
func Start(cmd *exec.Cmd) (*Process, error) { return StartWith(Settings{}, cmd) }

// Settings are attributes of a process. Without them the process would inherit the attributes of
// this process. The children of the process inherit its attributes.
type Settings struct {
	CPUs []int // CPUs that the process may use; empty means the CPUs of this process
	// network namespace, owned by the caller; nil means the namespace of this process
	Namespace  *os.File
	SmallPages bool // whether code and memory are mapped only by small pages; see inSmallPages
}

// StartWith is Start with additional settings.
func StartWith(s Settings, cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	// The function may restrict its thread to certain CPUs and move it to another namespace.
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

// confine restricts the calling thread to the given CPUs. If cpus is empty, it does nothing. A
// process inherits the CPUs of the thread that starts it.
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

// enter moves the calling thread to a network namespace. If namespace is nil, it does nothing. A
// process inherits the namespace of the thread that starts it.
func enter(namespace *os.File) error {
	if namespace == nil {
		return nil
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("start it in another network namespace: %w", err)
	}
	return nil
}

// wait waits until the process has ended, kills the other processes of its group, and reaps it.
func (p *Process) wait() error {
	pid := p.PID()
	var errs []error
	if err := awaitEnd(pid); err != nil {
		errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
	} else if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		// As long as the process is not reaped, no other group can get its ID.
		errs = append(errs, fmt.Errorf("kill process group %d: %w", pid, err))
	}
	if err := p.cmd.Wait(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			errs = append(errs, fmt.Errorf("wait for process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// awaitEnd waits until a child has ended. It does not reap the child.
func awaitEnd(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// PID returns the ID of the process, which is also the ID of its process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended and has been reaped.
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

// Err returns an error that the exit status does not report: the wait for the process failed, or
// its process group could not be killed. It returns nil while the process is running.
func (p *Process) Err() error {
	if !p.Ended() {
		return nil
	}
	return p.err
}

// Orderly reports whether the process has ended with status 0 and without another error.
func (p *Process) Orderly() bool { return p.Ended() && p.err == nil && p.cmd.ProcessState.Success() }

// ExitCode returns the exit status. It returns -1 while the process is running, if a signal ended
// the process, and if the status is unknown.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Status describes the state of the process, for example "exit status 3" or "signal: killed". It
// returns "running" while the process is running, and "unknown" if the wait for its end failed.
func (p *Process) Status() string {
	switch {
	case !p.Ended():
		return "running"
	case p.cmd.ProcessState == nil: // Err returns the reason
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// CPU returns the user and system CPU time that the process and its reaped children had used when
// the process ended. It returns 0 while the process is running.
func (p *Process) CPU() time.Duration {
	if !p.Ended() || p.cmd.ProcessState == nil {
		return 0
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// Signal sends a signal only to the process, not to its group. It returns nil if the process has
// ended.
func (p *Process) Signal(sig os.Signal) error {
	// The process may end at the same time. os.Process never signals another process that has got
	// the same ID.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill ends the process with SIGKILL unless it has already ended. It returns the result of Err when
// the process has ended, normally instantly. If the process does not end within 10 s, Kill returns
// an error.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !p.endsWithin(killTimeout) {
		return fmt.Errorf("process %d did not end within %s of SIGKILL", p.PID(), killTimeout)
	}
	return p.err
}

// End ends the process with SIGTERM. If the process has not ended after grace, End kills it like
// Kill. It returns the result of Err when the process has ended.
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

// Environ returns the environment of this process without the variables whose names start with one
// of the prefixes. Callers use it to remove variables that would configure a program in addition to
// the scenario. A prefix that ends with "=" matches only the variable with exactly this name.
func Environ(without ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc(without, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}

// OnThread calls do on a dedicated thread, and does not wait for it. The thread ends when do
// returns, so do may change properties of the thread, such as its network namespace and its CPUs.
// The thread is never the main thread: the main thread cannot end, and /proc reports its properties
// as those of the process.
func OnThread(do func()) {
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, because it is never unlocked
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		done := make(chan struct{})
		go func() { // this goroutine runs on another thread, because the current thread is locked
			defer close(done)
			runtime.LockOSThread()
			do()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}
