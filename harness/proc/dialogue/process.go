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

// AnswersPath is the file for the answers of a process that was started with an OutputPath.
const AnswersPath = "/dev/fd/3"

// Process is a child process that executes commands. Only PID, Kill, Status and ExitCode are safe
// for concurrent use. If an answer is missing, no further command can be sent.
type Process struct {
	name    string
	child   *proc.Process
	logPath string
	in      *os.File // write end of the child's standard input
	out     *os.File // read end of the child's answers
	answers chan []byte
	readErr error         // why no more answers are read; nil if the child closed them
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
	Without []string // variables of this process that are not passed on; see proc.Environ
	CPUs    []int    // CPUs that the process may use; empty means the CPUs of this process
	LogPath string   // file to which the standard error of the process is appended
	// OutputPath is the file for the standard output of the process, which then writes its answers
	// to AnswersPath. If it is "", the process writes its answers to the standard output.
	OutputPath string
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
	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Env = append(proc.Environ(c.Without...), c.Env...)
	log, err := os.OpenFile(c.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own copies of these descriptors
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, log
	p := &Process{logPath: c.LogPath, in: in, out: out, answers: make(chan []byte), over: make(chan struct{})}
	if c.OutputPath != "" {
		var output *os.File
		output, err = os.Create(c.OutputPath)
		defer func() { _ = output.Close() }()
		cmd.Stdout, cmd.ExtraFiles = output, []*os.File{childOut}
	}
	if err == nil {
		p.child, err = proc.StartWith(proc.Settings{CPUs: c.CPUs, SmallPages: c.SmallPages}, cmd)
	}
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
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
	p.readErr = scanner.Err()
}

// PID returns the ID of the process.
func (p *Process) PID() int { return p.child.PID() }

// Status describes the state of the process; see proc.Process.Status.
func (p *Process) Status() string { return p.child.Status() }

// ExitCode returns the exit status of the process; see proc.Process.ExitCode.
func (p *Process) ExitCode() int { return p.child.ExitCode() }

// Hello sends the first command, which compares the protocol's versions of both sides. The process
// executes it with the command that the function Hello returns.
func (p *Process) Hello(ctx context.Context, within time.Duration, v int) error {
	var said version
	err := p.Call(ctx, within, CommandHello, version{v}, &said)
	if err == nil && said.Version != v {
		err = fmt.Errorf("%s: it has version %d of the protocol, prony has version %d: build both from the same commit", p.name, said.Version, v)
	}
	return err
}

// End sends the last command, after which the process must end. It returns when the process has
// ended.
func (p *Process) End(ctx context.Context, within time.Duration, do string, done any) error {
	if err := p.Call(ctx, within, do, nil, done); err != nil {
		return errors.Join(err, p.Kill())
	}
	p.broken = fmt.Errorf("%s: already ended", p.name)
	if err := p.Wait(ctx, endMax); err != nil {
		return errors.Join(err, p.Kill())
	}
	p.close()
	if !p.child.Orderly() {
		return p.failed()
	}
	return nil
}

// Wait waits until the process has ended after its last answer, at most for the given time.
func (p *Process) Wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-p.child.Done():
		return p.child.Err()
	case <-timer.C:
		return fmt.Errorf("%s: the process did not end after its last answer", p.name)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
	}
}

// Stop ends the process with SIGTERM, and with SIGKILL if it still runs after grace. It does
// nothing if the process has already ended.
func (p *Process) Stop(grace time.Duration) error {
	err := p.child.End(grace)
	p.close()
	return err
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
// result of the command is decoded into it. within is the time limit of the command. If ctx is done
// first, the error is its cause.
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
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer after %v", within))
	defer cancel()
	select {
	case line, ok := <-p.answers:
		if !ok && p.readErr != nil {
			return a, p.Failure(fmt.Errorf("read an answer: %w", p.readErr))
		} else if !ok {
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
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return a, p.Failure(context.Cause(ctx))
		}
		return a, context.Cause(ctx)
	}
}

// failed returns an error for a process that ended early.
func (p *Process) failed() error {
	select {
	case <-p.child.Done():
	case <-time.After(answerMargin):
	}
	return p.Failure(errors.New("the process ended early"))
}

// Failure adds the status of the process and the last lines of its log to an error.
func (p *Process) Failure(err error) error {
	lines, logErr := proc.LastLines(p.logPath, proc.ErrorLines)
	if logErr != nil {
		return errors.Join(fmt.Errorf("%w: %s", err, p.child.Status()), logErr)
	}
	return fmt.Errorf("%w: %s\n%s", err, p.child.Status(), proc.LogText(p.logPath, lines))
}
