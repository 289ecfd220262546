package generator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
)

const (
	// openMax bounds the opening of all connections and sessions.
	openMax = 30 * time.Second
	// answerMargin is how much longer than a command takes at most its answer is waited for.
	answerMargin = 10 * time.Second
	// endMax bounds the wait for the process to end after its last answer.
	endMax = 10 * time.Second
)

// Process is a generator that runs. One goroutine at a time may use it, but PID and Kill may be called from any. After a call
// has failed, only Kill may be called.
type Process struct {
	child   *proc.Process
	logPath string
	in      *os.File // write end of the standard input
	out     *os.File // read end of the standard output
	answers chan []byte
	over    chan struct{} // closed by close
	reading sync.WaitGroup
	closing sync.Once
	broken  error // why no more command can be sent
}

// Command says how a generator's process is started.
type Command struct {
	Binary  string
	Env     []string // "NAME=value", added to this process's environment
	CPUs    []int    // that the process may use; without any all that this process may
	LogPath string   // where the generator's errors go; appended to
}

// Start starts a generator and returns when all of its sessions are open. GOMAXPROCS is the workload's Procs unless that is 0. The
// caller must call Finish or Kill.
func Start(ctx context.Context, c Command, spec Spec) (*Process, error) {
	if procs := spec.Workload.Procs; procs > 0 {
		c.Env = append(slices.Clip(c.Env), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	p, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("start the generator: %w", err)
	}
	if err := p.call(ctx, openMax, "open", spec, nil); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// start starts the process.
func (c Command) start() (*Process, error) {
	log, err := os.OpenFile(c.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
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
	cmd := exec.Command(c.Binary)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), c.Env...), childIn, childOut, log
	child, err := proc.StartOn(c.CPUs, cmd)
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	p := &Process{child: child, logPath: c.LogPath, in: in, out: out, answers: make(chan []byte), over: make(chan struct{})}
	p.reading.Go(p.read)
	return p, nil
}

// read reads answers until the output ends.
func (p *Process) read() {
	defer close(p.answers)
	scanner := bufio.NewScanner(p.out)
	scanner.Buffer(nil, lineBytesMax)
	for scanner.Scan() {
		select {
		case p.answers <- bytes.Clone(scanner.Bytes()):
		case <-p.over:
			return
		}
	}
}

// PID is the process's id.
func (p *Process) PID() int { return p.child.PID() }

// Slice sends in a closed loop for a length of time, up to load.SliceMax, and returns when nothing is in flight.
func (p *Process) Slice(ctx context.Context, length time.Duration) (Slice, error) {
	var s Slice
	err := p.call(ctx, length+load.SliceDrainMax, "slice", sliceArguments{Length: length}, &s)
	return s, err
}

// OpenSlice sends tasks that are due at random times, a Poisson process of a mean rate drawn from a seed, for a length of time, and
// returns when nothing is in flight. The latencies of all open-loop slices are in the Report.
func (p *Process) OpenSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error {
	return p.call(ctx, length+load.SliceDrainMax, "open_slice", sliceArguments{Length: length, Seed: seed, PerSecond: perSecond}, nil)
}

// Finish ends the load, closes the connections, and returns what was measured when the process has ended.
func (p *Process) Finish(ctx context.Context) (Report, error) {
	var r Report
	if err := p.call(ctx, endMax, commandFinish, nil, &r); err != nil {
		return Report{}, errors.Join(err, p.Kill())
	}
	p.broken = errors.New("generator: finished before")
	ctx, cancel := context.WithTimeout(ctx, endMax)
	defer cancel()
	select {
	case <-p.child.Done():
	case <-ctx.Done():
		return Report{}, errors.Join(errors.New("generator: the process did not end after its last answer"), p.Kill())
	}
	p.close()
	if !p.child.Orderly() {
		return Report{}, p.failed()
	}
	return r, nil
}

// Kill ends the process at once, unless it has ended.
func (p *Process) Kill() error {
	err := p.child.Kill()
	p.close()
	return err
}

// close frees the pipes.
func (p *Process) close() {
	p.closing.Do(func() {
		close(p.over)
		_, _ = p.in.Close(), p.out.Close() // nothing is left to read or write
		p.reading.Wait()
	})
}

// call sends a command and waits for the answer.
func (p *Process) call(ctx context.Context, within time.Duration, do string, arguments, done any) error {
	if p.broken != nil {
		return p.broken
	}
	answered, err := p.exchange(ctx, within+answerMargin, do, arguments)
	if err != nil {
		p.broken = fmt.Errorf("generator: %s: %w", do, err)
		return p.broken
	}
	if answered.Error != "" {
		return fmt.Errorf("generator: %s", answered.Error)
	}
	if done == nil {
		return nil
	}
	if err := json.Unmarshal(answered.Done, done); err != nil {
		return fmt.Errorf("generator: read the answer to %s: %w", do, err)
	}
	return nil
}

// exchange sends a command and returns the answer. After an error no other command can be sent.
func (p *Process) exchange(ctx context.Context, within time.Duration, do string, arguments any) (a answer, err error) {
	r := request{Do: do}
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
		return a, json.Unmarshal(line, &a)
	case <-ctx.Done():
		return a, context.Cause(ctx)
	case <-timer.C:
		return a, fmt.Errorf("no answer after %v", within)
	}
}

// failed says how the process ended early.
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
