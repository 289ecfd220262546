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

// Config says what a k6 process is to do.
type Config struct {
	Binary string // as Find returns it
	// Plan is the script's. Its workload has the script, whose content must be that of when the
	// scenario was read.
	Plan    Plan
	Address string       // as of AddressEnv
	Admin   string       // as of AdminEnv
	Token   string       // as of TokenEnv; "" where the server wants none
	CA      clienttls.CA // as of TLSCAEnv and TLSNameEnv; zero where the server has no TLS
	// LogPath is where its messages go, and SummaryPath what it prints besides: its summary, and
	// what the script prints there.
	LogPath     string
	SummaryPath string

	// Where a test does not set them they are the constants of these names.
	readyTimeout, outcomeMargin, exitTimeout, grace time.Duration
}

const (
	// readyTimeout bounds the time until the script is ready: its init context runs once for each
	// VU.
	readyTimeout = time.Minute
	// lead is the time between the harness's word and the warm-up's beginning. It is short, because
	// k6 counts the durations of a script's scenarios from before.
	lead = 50 * time.Millisecond
	// outcomeMargin is how long after the drain's time is up the script may say what came of it: k6
	// lets iterations end, for 30 s where a script does not say otherwise, and runs its teardown.
	outcomeMargin = time.Minute
	// exitTimeout is how long k6 may take to end after that.
	exitTimeout = 30 * time.Second
	// grace is how long k6 has between SIGTERM and SIGKILL.
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

// Process is a k6 process whose script is ready to begin. Close must be called; Run once at most.
type Process struct {
	config  Config
	place   *workplace
	child   *proc.Process
	channel *channel // nil before k6 has connected

	mu     sync.Mutex // guards the rest
	last   load.Progress
	lastAt time.Time // when it was so; zero before the first
}

// Start starts k6 with the script and returns once the script is ready to begin. When it fails, no
// process is left. A problem of k6's or the script's is an *Error.
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

// checkScript returns the absolute path of a script that is as it was when the scenario was read.
func checkScript(s scenario.Script) (string, error) {
	content, err := os.ReadFile(s.Path)
	if err != nil {
		return "", &Error{Problem: fmt.Sprintf("the script can't be read: %v", err), Script: s.Path, Status: "not started"}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != s.SHA256 {
		return "", &Error{Problem: "the script is not what it was when the scenario was read: run it again", Script: s.Path, Status: "not started"}
	}
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", fmt.Errorf("find the script: %w", err)
	}
	return path, nil
}

// launch starts the process.
func (p *Process) launch(script string) (err error) {
	plan, err := json.Marshal(p.config.Plan)
	if err != nil {
		return fmt.Errorf("write the plan for k6: %w", err)
	}
	var outputs []*os.File
	defer func() {
		for _, f := range outputs { // the process has descriptors of its own
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
	// Nothing else configures k6 and the extension: a scenario says all that counts.
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

// awaitReady waits for k6 to connect and to say that the script is ready.
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
		_ = p.place.listener.Close() // one connection is all, and this ends the goroutine
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
				messages = nil // its exit says why, or the time is up
			case h.err != nil:
				return p.problem("k6 sent what the harness does not understand: %v", h.err)
			case h.message.Ready == nil:
				return p.problem("k6 sent something before the script was ready")
			case h.message.Ready.Version != Version:
				return p.problem("k6 has version %d of the extension's messages, the harness has %d: run `make k6` and `make build`",
					h.message.Ready.Version, Version)
			default:
				return nil
			}
		case <-p.child.Done():
			return p.exited("before its script was ready")
		case <-timeout.C:
			return p.problem("the script was not ready after %v: it must call load() in its init context, and its VUs must get as far as their first wait", p.config.readyTimeout)
		case <-ctx.Done():
			return stopped(ctx)
		}
	}
}

// stopped is the error of a wait that the caller ended.
func stopped(ctx context.Context) error { return fmt.Errorf("k6: stopped: %w", context.Cause(ctx)) }

// PID is the process's id.
func (p *Process) PID() int { return p.child.PID() }

// Progress returns what the script last reported, and when that was: zero before the first time.
func (p *Process) Progress() (last load.Progress, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.lastAt
}

// Close ends the process and all that it started, and removes what it was given. It returns when
// that is done.
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

// problem describes a problem as it stands.
func (p *Process) problem(format string, args ...any) *Error {
	return &Error{
		Problem: fmt.Sprintf(format, args...), Script: p.config.Plan.Workload.Script.Path, Status: p.child.Status(),
		LogPath: p.config.LogPath, Lines: lastLines(p.config.LogPath),
	}
}

// exited describes the end of a process that came too early.
func (p *Process) exited(when string) *Error {
	e := p.problem("k6 ended %s", when)
	if p.child.ExitCode() == exitThresholds {
		e.Thresholds = crossed(p.config.SummaryPath, e.Lines)
		e.Problem += ": " + e.Thresholds
	}
	return e
}

// exitThresholds is k6's exit status when thresholds of the script were crossed.
const exitThresholds = 99
