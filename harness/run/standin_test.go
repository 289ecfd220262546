package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/stream"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/result"
)

// standInEnv makes the test binary act as k6 with Prony's extension. Its value selects the
// behaviour of the script.
const standInEnv = "STAND_IN_K6"

// Behaviours of a script in addition to its load.
const (
	scriptPlain   = "plain"        // nothing
	scriptCrosses = "thresholds"   // has thresholds that are crossed
	scriptThrows  = "throws"       // throws an exception in its init context
	scriptDies    = "dies"         // is killed in the window
	scriptEarly   = "early"        // ends before the window does
	scriptFails   = "failed calls" // has calls that fail
	scriptGarbles = "garbage"      // sends an invalid message
	scriptLoses   = "loses"        // reports one completed task less than it enqueued
)

// actK6 runs the requested load on the servers with package load and reports the outcome as the
// extension does.
func actK6(does string) {
	if err := standIn(does); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(104)
	}
	switch does {
	case scriptCrosses:
		fmt.Print("  █ THRESHOLDS\n\n    prony_cycle_duration\n    ✗ 'p(95)<1' p(95)=3.25ms\n\n")
		fmt.Fprintln(os.Stderr, "thresholds on metrics 'prony_cycle_duration' have been crossed")
		os.Exit(99)
	default:
		os.Exit(0)
	}
}

// standInFiles is the number of extra files that the stand-in keeps open, which identifies its
// process.
const standInFiles = 300

func standIn(does string) error {
	for range standInFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only kept open
	}
	if does == scriptThrows {
		fmt.Fprintln(os.Stderr, "ReferenceError: quue is not defined\n\tat file:///plan.js:3:1(12)")
		os.Exit(107)
	}
	out, err := os.OpenFile(os.Getenv(k6run.ControlEnv), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	h := toHarness{plan: make(chan k6run.Plan), begin: make(chan k6run.Begin), outcome: make(chan *k6run.Outcome)}
	served := make(chan error, 1)
	go func() {
		served <- dialogue.Serve(context.Background(), os.Stdin, out, func(context.Context) dialogue.Commands {
			return h.commands(does, out)
		}, func(string, error) (bool, error) { return h.told, nil })
	}()
	plan := <-h.plan
	begin := <-h.begin
	epoch := time.Unix(0, begin.UnixNS)
	if does == scriptEarly {
		plan.Phases.Warmup, plan.Phases.Window = 0, plan.Phases.Window/4
	}
	<-time.After(time.Until(epoch))
	o, balance, err := loadAs(plan, &h, does)
	if err != nil {
		return err
	}
	switch does {
	case scriptLoses:
		balance.Completed--
		balance.Lost++
		balance.Samples = append(balance.Samples, "lost: task 1 of producer 0")
	case scriptFails:
		o.FailedCalls = load.Refusals{Count: 3, First: "produce: the queue is gone"}
	}
	encoded, err := k6run.Encode(o, balance)
	if err != nil {
		return err
	}
	encoded.FinishedNS = time.Since(epoch)
	h.outcome <- encoded
	return <-served
}

// toHarness is the stand-in's connection to the harness.
type toHarness struct {
	plan     chan k6run.Plan
	begin    chan k6run.Begin
	outcome  chan *k6run.Outcome
	progress atomic.Pointer[load.Progress]
	told     bool
}

func (h *toHarness) commands(does string, out io.Writer) dialogue.Commands {
	return dialogue.Commands{
		dialogue.CommandHello: dialogue.Hello(k6run.Version),
		k6run.CommandReady: dialogue.Do(func(_ context.Context, plan k6run.Plan) (none dialogue.None, err error) {
			h.plan <- plan
			return none, nil
		}),
		k6run.CommandBegin: dialogue.Do(func(_ context.Context, begin k6run.Begin) (none dialogue.None, err error) {
			h.begin <- begin
			return none, nil
		}),
		k6run.CommandReport: dialogue.Do(func(ctx context.Context, _ dialogue.None) (r k6run.Report, err error) {
			if does == scriptGarbles {
				_, err := fmt.Fprintln(out, "ready when you are")
				return r, err
			}
			select {
			case r.Outcome = <-h.outcome:
				h.told = true
			case <-time.After(standInReports):
				if last := h.progress.Load(); last != nil {
					r.Progress = *last
				}
			case <-ctx.Done():
				return r, context.Cause(ctx)
			}
			return r, nil
		}),
	}
}

// standInReports is the time between reports of the stand-in.
const standInReports = 50 * time.Millisecond

func standInCA() clienttls.CA {
	return clienttls.CA{PEM: os.Getenv(k6run.TLSCAEnv), Name: os.Getenv(k6run.TLSNameEnv)}
}

// loadAs runs a closed load over streams.
func loadAs(plan k6run.Plan, h *toHarness, does string) (*load.Outcome, result.Ledger, error) {
	w := plan.Workload
	conn, err := stream.Dial(driver.Target{
		Address: os.Getenv(k6run.AddressEnv), Token: os.Getenv(k6run.TokenEnv), CA: standInCA(),
	}, w.Lease)
	if err != nil {
		return nil, result.Ledger{}, err
	}
	account := load.NewLedger(plan.Round, w)
	o, err := load.Run(context.Background(), load.Config{
		Workload: w, Phases: plan.Phases, Conns: []driver.Conn{conn}, Ledger: account,
		Hooks: load.Hooks{
			Progress: func(p load.Progress) { h.progress.Store(&p) },
			WindowStart: func(context.Context) error {
				if does == scriptDies {
					return syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				return nil
			},
		},
	})
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, result.Ledger{}, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return o, account.Balance(), nil
}
