package k6run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/scenario"
)

// Config configures a k6 process.
type Config struct {
	Binary string // as returned by Find
	// Plan is sent to the script. Its workload names the script, whose content must not have
	// changed since the scenario was read.
	Plan    Plan
	Address string       // value of AddressEnv
	Admin   string       // value of AdminEnv
	Token   string       // value of TokenEnv; "" if the server requires none
	CA      clienttls.CA // values of TLSCAEnv and TLSNameEnv; zero if the server has no TLS
	// LogPath receives k6's stderr, its messages. SummaryPath receives its stdout: the summary, and
	// output of the script.
	LogPath     string
	SummaryPath string

	// Tests may set these. Zero means the constant of the same name.
	readyTimeout, outcomeMargin, exitTimeout, grace time.Duration
}

const (
	// readyTimeout bounds the time until the script is ready. Its init context runs once for each
	// VU.
	readyTimeout = time.Minute
	// lead is the time between the begin message and the begin of the warm-up. It is short, because
	// the durations of a script's scenarios already count during it.
	lead = 50 * time.Millisecond
	// outcomeMargin bounds the time from the end of the drain to the outcome. In this time k6 waits
	// for iterations to end, by default up to 30 s, and runs the script's teardown.
	outcomeMargin = time.Minute
	// exitTimeout bounds the time from the outcome to k6's exit.
	exitTimeout = 30 * time.Second
	// grace is the time between SIGTERM and SIGKILL.
	grace = 5 * time.Second
)

func (c *Config) fill() {
	for _, d := range []struct {
		of    *time.Duration
		value time.Duration
	}{{&c.readyTimeout, readyTimeout}, {&c.outcomeMargin, outcomeMargin}, {&c.exitTimeout, exitTimeout}, {&c.grace, grace}} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
}

// Process is a k6 process whose script is ready to begin. Call Run at most once, and Close always.
type Process struct {
	config  Config
	place   *workplace
	child   *proc.Process
	channel *channel // nil before k6 has connected

	mu     sync.Mutex // guards the rest
	last   load.Progress
	lastAt time.Time // time of last; zero before the first report
}

// Start starts k6 with the script and returns when the script is ready to begin. If it fails, it
// leaves no process behind. A failure of k6 or of the script is an *Error.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	cfg.fill()
	script, err := checkScript(cfg.Plan.Workload.Script)
	if err != nil {
		return nil, err
	}
	place, err := newWorkplace()
	if err != nil {
		return nil, err
	}
	p := &Process{config: cfg, place: place}
	if err = p.launch(script); err == nil {
		err = p.awaitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// checkScript returns the absolute path of a script. It fails if the script has changed since the
// scenario was read.
func checkScript(s scenario.Script) (string, error) {
	content, err := os.ReadFile(s.Path)
	if err != nil {
		return "", &Error{Problem: fmt.Sprintf("the script can't be read: %v", err), Script: s.Path, Status: "not started"}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != s.SHA256 {
		return "", &Error{Problem: "the script has changed since the scenario was read: run it again", Script: s.Path, Status: "not started"}
	}
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", fmt.Errorf("find the script: %w", err)
	}
	return path, nil
}

func (p *Process) launch(script string) (err error) {
	plan, err := json.Marshal(p.config.Plan)
	if err != nil {
		return fmt.Errorf("write the plan for k6: %w", err)
	}
	var outputs []*os.File
	defer func() {
		for _, f := range outputs { // the process has its own descriptors
			err = errors.Join(err, f.Close())
		}
	}()
	for _, path := range []string{p.config.LogPath, p.config.SummaryPath} {
		f, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("make k6's log: %w", err)
		}
		outputs = append(outputs, f)
	}
	cmd := exec.Command(p.config.Binary, "run", "--quiet", "--no-usage-report", "--address", "", "--no-color",
		"--log-output", "stderr", "--log-format", "raw", "--config", p.place.config(), script)
	cmd.Stderr, cmd.Stdout = outputs[0], outputs[1]
	// Only the scenario configures k6 and the extension: inherited settings are removed.
	cmd.Env = append(proc.Environ("K6_", "PRONY_", "GOMAXPROCS="),
		AddressEnv+"="+p.config.Address, AdminEnv+"="+p.config.Admin, TokenEnv+"="+p.config.Token,
		PlanEnv+"="+string(plan), ControlEnv+"="+p.place.socket(),
		"K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false")
	if ca := p.config.CA; !ca.IsZero() {
		cmd.Env = append(cmd.Env, TLSCAEnv+"="+ca.PEM, TLSNameEnv+"="+ca.Name)
	}
	if procs := p.config.Plan.Workload.Procs; procs > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(procs))
	}
	p.child, err = proc.Start(cmd)
	return err
}

// awaitReady waits until k6 has connected and the script is ready.
func (p *Process) awaitReady(ctx context.Context) error {
	timeout := time.NewTimer(p.config.readyTimeout)
	defer timeout.Stop()
	accepted := make(chan *net.UnixConn, 1)
	go func() {
		conn, err := p.place.listener.AcceptUnix()
		if err != nil {
			conn = nil // closed below
		}
		accepted <- conn
	}()
	connected := accepted
	defer func() {
		_ = p.place.listener.Close() // there is only one connection; this ends the goroutine
		if p.channel == nil {
			if conn := <-accepted; conn != nil {
				_ = conn.Close()
			}
		}
	}()
	var messages chan heard
	for {
		select {
		case conn := <-connected:
			if conn == nil {
				return errors.New("k6's connection could not be accepted")
			}
			p.channel = newChannel(conn)
			messages, connected = p.channel.messages, nil
		case h := <-messages:
			switch {
			case errors.Is(h.err, errEnded):
				messages = nil // wait for k6's exit, which has the reason, or for the timeout
			case h.err != nil:
				return p.problem("k6 sent an invalid message: %v", h.err)
			case h.message.Ready == nil:
				return p.problem("k6 sent another message before the script was ready")
			case h.message.Ready.Version != Version:
				return p.problem("the k6 extension has message version %d, the harness has %d: run `make k6` and `make build`",
					h.message.Ready.Version, Version)
			default:
				return nil
			}
		case <-p.child.Done():
			return p.exited("before its script was ready")
		case <-timeout.C:
			return p.problem("the script was not ready after %v: it must call load() in its init context, and its VUs must reach their first wait", p.config.readyTimeout)
		case <-ctx.Done():
			return stopped(ctx)
		}
	}
}

// stopped returns the error of a wait whose context is done.
func stopped(ctx context.Context) error { return fmt.Errorf("k6: stopped: %w", context.Cause(ctx)) }

// PID returns the process id.
func (p *Process) PID() int { return p.child.PID() }

// Progress returns the script's last report and its time. Both are zero before the first report.
func (p *Process) Progress() (last load.Progress, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.lastAt
}

// Close ends the process and all its descendants, removes its temporary folder, and returns when
// this is done.
func (p *Process) Close() error {
	var errs []error
	if p.channel != nil {
		p.channel.close()
		p.channel = nil
	}
	if p.child != nil {
		errs = append(errs, p.child.End(p.config.grace))
	}
	return errors.Join(append(errs, p.place.close())...)
}

// problem returns an Error with the current status of the process.
func (p *Process) problem(format string, args ...any) *Error {
	return &Error{
		Problem: fmt.Sprintf(format, args...), Script: p.config.Plan.Workload.Script.Path, Status: p.child.Status(),
		LogPath: p.config.LogPath, Lines: lastLines(p.config.LogPath),
	}
}

// exited returns an Error for a process that ended too early.
func (p *Process) exited(when string) *Error {
	e := p.problem("k6 ended %s", when)
	if p.child.ExitCode() == exitThresholds {
		e.Thresholds = crossed(p.config.SummaryPath, e.Lines)
		e.Problem += ": " + e.Thresholds
	}
	return e
}

// exitThresholds is k6's exit status if thresholds of the script were crossed.
const exitThresholds = 99

// BinaryEnv names the k6 binary explicitly.
const BinaryEnv = "PRONY_K6"

// Find returns the absolute path of a k6 binary with Prony's extension. It uses the path in the
// environment variable PRONY_K6, then a k6 in the folder of the running program, then bin/k6 below
// the working directory. It does not search PATH, because a k6 there lacks the extension.
func Find() (string, error) {
	return proc.Binary{Called: "k6", File: "k6", Env: BinaryEnv, Make: "k6", Wanted: "a k6 with Prony's extension"}.Find()
}
