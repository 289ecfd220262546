package k6run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/proc/dialogue"
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
	readyTimeout, outcomeMargin, exitTimeout time.Duration
}

const (
	// readyTimeout bounds the time until the script is ready. Its init context runs once for each
	// VU.
	readyTimeout = time.Minute
	// lead is the time between the command to begin and the begin of the warm-up. It is short,
	// because the durations of a script's scenarios already count during it.
	lead = 50 * time.Millisecond
	// outcomeMargin bounds the time from the end of the drain to the outcome. In this time k6 waits
	// for iterations to end, by default up to 30 s, and runs the script's teardown.
	outcomeMargin = time.Minute
	// exitTimeout bounds the time from the outcome to k6's exit.
	exitTimeout = 30 * time.Second
	// stopGrace is the time between SIGTERM and SIGKILL.
	stopGrace = 5 * time.Second
)

func (c *Config) fill() {
	for _, d := range []struct {
		of    *time.Duration
		value time.Duration
	}{{&c.readyTimeout, readyTimeout}, {&c.outcomeMargin, outcomeMargin}, {&c.exitTimeout, exitTimeout}} {
		if *d.of == 0 {
			*d.of = d.value
		}
	}
}

// Process is a k6 process whose script is ready to begin. Call Run at most once, and Close always.
type Process struct {
	config   Config
	commands *dialogue.Process

	mu     sync.Mutex // guards the rest
	last   load.Progress
	lastAt time.Time // time of last; zero before the first report
}

// Start starts k6 with the script and returns when the script is ready to begin. If it fails, it
// leaves no process behind. A failure of k6 or of the script is an *Error.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	cfg.fill()
	command, err := cfg.command()
	if err != nil {
		return nil, err
	}
	p := &Process{config: cfg}
	if p.commands, err = dialogue.Start("k6 process", command); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, cfg.readyTimeout,
		fmt.Errorf("the script was not ready after %v: it must call load() in its init context, and its VUs must reach their first wait", cfg.readyTimeout))
	defer cancel()
	if err = p.commands.Hello(bounded, cfg.readyTimeout, Version); err == nil {
		err = p.commands.Call(bounded, cfg.readyTimeout, CommandReady, cfg.Plan, nil)
	}
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() == nil:
		err = p.problem(err)
	}
	return nil, errors.Join(err, p.Close())
}

func (c *Config) command() (d dialogue.Command, err error) {
	script, err := checkScript(c.Plan.Workload.Script)
	if err != nil {
		return d, err
	}
	logs, err := filepath.Abs(filepath.Dir(c.LogPath))
	if err != nil {
		return d, fmt.Errorf("configure k6: %w", err)
	}
	d = dialogue.Command{
		Binary: c.Binary, LogPath: c.LogPath, OutputPath: c.SummaryPath,
		Args: []string{
			"run", "--quiet", "--no-usage-report", "--address", "", "--no-color", "--log-output", "stderr", "--log-format", "raw", script,
		},
		// Only the scenario configures k6 and the extension: inherited settings are removed, and
		// there is no k6/config.json in the folder of the logs.
		Without: []string{"K6_", "PRONY_", "GOMAXPROCS=", "XDG_CONFIG_HOME="},
		Env: []string{
			AddressEnv + "=" + c.Address, AdminEnv + "=" + c.Admin, TokenEnv + "=" + c.Token, ControlEnv + "=" + dialogue.AnswersPath,
			"XDG_CONFIG_HOME=" + logs, "K6_NO_USAGE_REPORT=true", "K6_AUTO_EXTENSION_RESOLUTION=false",
		},
	}
	if ca := c.CA; !ca.IsZero() {
		d.Env = append(d.Env, TLSCAEnv+"="+ca.PEM, TLSNameEnv+"="+ca.Name)
	}
	if procs := c.Plan.Workload.Procs; procs > 0 {
		d.Env = append(d.Env, "GOMAXPROCS="+strconv.Itoa(procs))
	}
	return d, nil
}

// checkScript returns the absolute path of a script. It fails if the script has changed since the
// scenario was read.
func checkScript(s scenario.Script) (string, error) {
	content, err := os.ReadFile(s.Path)
	if err != nil {
		return "", &Error{Script: s.Path, cause: fmt.Errorf("the script can't be read: %w", err)}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != s.SHA256 {
		return "", &Error{Script: s.Path, cause: errors.New("the script has changed since the scenario was read: run it again")}
	}
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", fmt.Errorf("find the script: %w", err)
	}
	return path, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.commands.PID() }

// Progress returns the script's last report and its time. Both are zero before the first report.
func (p *Process) Progress() (last load.Progress, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.lastAt
}

// Close ends the process and all its descendants, and returns when this is done. An interrupted
// script has stopGrace for its teardown and its summary.
func (p *Process) Close() error { return p.commands.Stop(stopGrace) }

// problem returns a failure as an Error.
func (p *Process) problem(cause error) *Error {
	return &Error{Script: p.config.Plan.Workload.Script.Path, Thresholds: p.thresholds(), cause: cause}
}

// exitThresholds is k6's exit status if thresholds of the script were crossed.
const exitThresholds = 99

// thresholds returns a description of the crossed thresholds of a process that has ended. It
// returns "" if no threshold is crossed.
func (p *Process) thresholds() string {
	if p.commands.ExitCode() != exitThresholds {
		return ""
	}
	return crossed(p.config.SummaryPath, p.config.LogPath)
}

// BinaryEnv names the k6 binary explicitly.
const BinaryEnv = "PRONY_K6"

// Find returns the absolute path of a k6 binary with Prony's extension. It uses the path in the
// environment variable PRONY_K6, then a k6 in the folder of the running program, then bin/k6 below
// the working directory. It does not search PATH, because a k6 there lacks the extension.
func Find() (string, error) {
	return proc.Binary{Called: "k6", File: "k6", Env: BinaryEnv, Make: "k6", Wanted: "a k6 with Prony's extension"}.Find()
}
