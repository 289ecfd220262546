package dialogue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

const (
	// answerMargin is added to the time limit of a command to get the timeout for its answer.
	answerMargin = 10 * time.Second
	// endMax bounds the wait for the process to end after its last answer.
	endMax = 10 * time.Second
)

// Process is a child process that executes commands. It is not safe for concurrent use, except PID,
// Kill and Status. After a missing answer only Kill may be called.
type Process struct {
	name    string
	child   *proc.Process
	logPath string
	in      *os.File // write end of the standard input
	out     *os.File // read end of the standard output
	answers chan []byte
	over    chan struct{} // closed by close
	reading sync.WaitGroup
	closing sync.Once
	calls   uint64 // commands sent
	broken  error  // why no further command can be sent
}

// Command defines how to start a process.
type Command struct {
	Binary  string
	Args    []string
	Env     []string // "NAME=value", added to this process's environment
	CPUs    []int    // CPUs that the process may use; empty means the CPUs of this process
	LogPath string   // for the standard error of the process; appended to
	// SmallPages makes the kernel map the process with small pages only, see proc.Settings.
	SmallPages bool
}

// Start starts a process. Errors contain the given name. The caller must call End or Kill.
func Start(name string, c Command) (*Process, error) {
	p, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	p.name = name
	return p, nil
}

func (c Command) start() (*Process, error) {
	log, err := os.OpenFile(c.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has a copy of the descriptor
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = childIn.Close() }()
	out, childOut, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer func() { _ = childOut.Close() }()
	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), c.Env...), childIn, childOut, log
	child, err := proc.StartWith(proc.Settings{CPUs: c.CPUs, SmallPages: c.SmallPages}, cmd)
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	p := &Process{child: child, logPath: c.LogPath, in: in, out: out, answers: make(chan []byte), over: make(chan struct{})}
	p.reading.Go(p.read)
	return p, nil
}

func (p *Process) read() {
	defer close(p.answers)
	scanner := bufio.NewScanner(p.out)
	scanner.Buffer(nil, LineBytesMax)
	for scanner.Scan() {
		select {
		case p.answers <- bytes.Clone(scanner.Bytes()):
		case <-p.over:
			return
		}
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.child.PID() }

// Status describes the state of the process, like proc.Process.Status.
func (p *Process) Status() string { return p.child.Status() }

// End sends the last command, after which the process must end, and returns when it has ended.
func (p *Process) End(ctx context.Context, within time.Duration, do string, done any) error {
	if err := p.Call(ctx, within, do, nil, done); err != nil {
		return errors.Join(err, p.Kill())
	}
	p.broken = fmt.Errorf("%s: already ended", p.name)
	ctx, cancel := context.WithTimeout(ctx, endMax)
	defer cancel()
	select {
	case <-p.child.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: the process did not end after its last answer", p.name), p.Kill())
	}
	p.close()
	if !p.child.Orderly() {
		return p.failed()
	}
	return nil
}

// Kill ends the process immediately, unless it has ended.
func (p *Process) Kill() error {
	err := p.child.Kill()
	p.close()
	return err
}

// close closes the pipes and waits for the reading goroutine.
func (p *Process) close() {
	p.closing.Do(func() {
		close(p.over)
		_, _ = p.in.Close(), p.out.Close() // nothing is left to read or write
		p.reading.Wait()
	})
}

// Call sends a command with its arguments, which may be nil, waits for the answer, and decodes it
// into done unless that is nil. within is the time limit of the command.
func (p *Process) Call(ctx context.Context, within time.Duration, do string, arguments, done any) error {
	if p.broken != nil {
		return p.broken
	}
	answered, err := p.exchange(ctx, within+answerMargin, do, arguments)
	if err != nil {
		p.broken = fmt.Errorf("%s: %s: %w", p.name, do, err)
		return p.broken
	}
	if answered.Error != "" {
		return fmt.Errorf("%s: %s", p.name, answered.Error)
	}
	if done == nil {
		return nil
	}
	if err := json.Unmarshal(answered.Done, done); err != nil {
		return fmt.Errorf("%s: read the answer to %s: %w", p.name, do, err)
	}
	return nil
}

// exchange sends a command and returns the answer. After an error no further command can be sent.
func (p *Process) exchange(ctx context.Context, within time.Duration, do string, arguments any) (a Answer, err error) {
	p.calls++
	r := Request{Call: p.calls, Do: do}
	if arguments != nil {
		if r.With, err = json.Marshal(arguments); err != nil {
			return a, err
		}
	}
	if err := p.in.SetWriteDeadline(time.Now().Add(answerMargin)); err != nil {
		return a, err
	}
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		return a, errors.Join(err, p.failed())
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case line, ok := <-p.answers:
		if !ok {
			return a, p.failed()
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return a, fmt.Errorf("malformed answer %.200q: %w", line, err)
		}
		if a.Call != p.calls {
			return a, fmt.Errorf("got the answer to call %d, expected call %d", a.Call, p.calls)
		}
		return a, nil
	case <-ctx.Done():
		return a, context.Cause(ctx)
	case <-timer.C:
		return a, fmt.Errorf("no answer after %v", within)
	}
}

// failed returns an error with the status and the last log lines of a process that ended early.
func (p *Process) failed() error {
	select {
	case <-p.child.Done():
	case <-time.After(answerMargin):
	}
	lines, err := proc.LastLines(p.logPath, proc.ErrorLines)
	if err != nil {
		return errors.Join(fmt.Errorf("the process ended early: %s", p.child.Status()), err)
	}
	return fmt.Errorf("the process ended early: %s\n%s", p.child.Status(), proc.LogText(p.logPath, lines))
}
