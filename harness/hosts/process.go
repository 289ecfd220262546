package hosts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

const (
	// answerTimeout bounds the wait for the forwarder's answer.
	answerTimeout = 5 * time.Second
	// forwarderGrace bounds the wait for the forwarder to end after it is asked to.
	forwarderGrace = 5 * time.Second
)

// process is the parent's end of the forwarder's process.
type process struct {
	process  *proc.Process
	requests *os.File
	answers  *os.File
	lines    *bufio.Reader
	log      string
}

// startForwarder starts a process that moves packets between the devices of hosts. The binary must
// call Main if IsChild returns true for its arguments. The messages of the process are written to
// the file log.
func startForwarder(binary string, devices []*os.File, log string) (_ *process, err error) {
	theirs := [2]*os.File{} // stdin and stdout of the child
	p := &process{log: log}
	defer func() {
		err = errors.Join(err, closeAll(theirs[:]...))
		if err != nil {
			err = errors.Join(fmt.Errorf("start the forwarder: %w", err), p.close())
		}
	}()
	if theirs[0], p.requests, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.answers, theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	p.lines = bufio.NewReaderSize(p.answers, requestMax)
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stderr.Close()) }()
	cmd := exec.Command(binary, command, strconv.Itoa(len(devices)))
	cmd.Env = append(proc.Environ(childEnv+"="), childEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], stderr
	cmd.ExtraFiles = devices
	if p.process, err = proc.Start(cmd); err != nil {
		return nil, err
	}
	err = closeAll(theirs[:]...) // so that answers ends when the child ends
	theirs = [2]*os.File{}
	if err == nil {
		_, err = p.ask(request{})
	}
	return p, err
}

func (p *process) ask(r request) (report, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return report{}, err
	}
	deadline := time.Now().Add(answerTimeout)
	if err := errors.Join(p.requests.SetWriteDeadline(deadline), p.answers.SetReadDeadline(deadline)); err != nil {
		return report{}, fmt.Errorf("ask the forwarder: %w", err)
	}
	if _, err := p.requests.Write(append(line, '\n')); err != nil {
		return report{}, p.failed(err)
	}
	answer, err := p.lines.ReadSlice('\n')
	if err != nil {
		return report{}, p.failed(err)
	}
	var said report
	if err := json.Unmarshal(answer, &said); err != nil {
		return report{}, fmt.Errorf("the forwarder's answer: %w: %q", err, answer)
	}
	return said, nil
}

func (p *process) failed(err error) error {
	lines, logErr := proc.LastLines(p.log, proc.ErrorLines)
	return errors.Join(fmt.Errorf("the forwarder does not answer: %w (%s)\n%s", err, p.process.Status(), proc.LogText(p.log, lines)), logErr)
}

func (p *process) close() error {
	err := closeAll(p.requests) // ends the process
	p.requests = nil
	if p.process != nil {
		err = errors.Join(err, p.process.End(forwarderGrace))
	}
	err = errors.Join(err, closeAll(p.answers))
	p.answers = nil
	return err
}
