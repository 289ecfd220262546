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
	// answerMargin plus the time limit of a command is the timeout for its answer.
	answerMargin = 10 * time.Second
	// endMax bounds the wait for the process to end after its last answer.
	endMax = 10 * time.Second
)

// Process is a child process that executes commands. Only PID, Kill and Status are safe for
// concurrent use. If an answer is missing, only Kill may be called afterwards.
type Process struct {
	name    string
	child   *proc.Process
	logPath string
	in      *os.File // write end of the child's standard input
	out     *os.File // read end of the child's standard output
	answers chan []byte
	over    chan struct{} // closed by the method close
	reading sync.WaitGroup
	closing sync.Once
	calls   uint64 // number of commands sent
	broken  error  // reason why no further command can be sent
}

// Command defines how to start a process.
type Command struct {
	Binary  string
	Args    []string
	Env     []string // "NAME=value", added to the environment of this process
	CPUs    []int    // CPUs that the process may use; empty means the CPUs of this process
	LogPath string   // file to which the standard error of the process is appended
	// SmallPages makes the kernel map the process only by small pages; see proc.Settings.
	SmallPages bool
}

// Start starts a process. name is used in error messages. The caller must call End or Kill.
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
	defer func() { _ = log.Close() }() // the child has its own copy of the descriptor
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

// PID returns the ID of the process.
func (p *Process) PID() int { return p.child.PID() }

// Status describes the state of the process; see proc.Process.Status.
func (p *Process) Status() string { return p.child.Status() }

// End sends the last command, after which the process must end. It returns when the process has
// ended.
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

// Kill ends the process immediately. It does nothing if the process has already ended.
func (p *Process) Kill() error {
	err := p.child.Kill()
	p.close()
	return err
}

func (p *Process) close() {
	p.closing.Do(func() {
		close(p.over)
		_, _ = p.in.Close(), p.out.Close() // nothing is left to read or write
		p.reading.Wait()
	})
}

// Call sends a command and waits for the answer. arguments may be nil. If done is not nil, the
// result of the command is decoded into it. within is the time limit of the command.
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

// exchange sends a command and returns its answer. If it returns an error, no further command can
// be sent.
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

// failed returns an error for a process that ended early. The error contains the status of the
// process and the last lines of its log.
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
