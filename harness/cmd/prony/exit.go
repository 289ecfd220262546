package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// interruptedName is the name of the exit code after SIGINT or SIGTERM.
const interruptedName = "interrupted"

// exitInterrupted is the exit code after SIGINT or SIGTERM, by the convention of shells.
const exitInterrupted = 130

// exitCodes is the only description of the exit codes. The help lists their names, and a test
// compares them with the table in the README.
var exitCodes = []struct {
	name    string // the verdict
	code    int
	meaning string
}{
	{string(result.Pass), result.Pass.ExitCode(), "the ledger balances, the host was fit, no limit is broken; a command without a judgement succeeded"},
	{string(result.Regressed), result.Regressed.ExitCode(), "a floor or ceiling is broken, a change is worse than its base, or a threshold of a k6 script was crossed"},
	{string(result.Misconfigured), result.Misconfigured.ExitCode(), "the command line, a file or the environment is wrong, or the k6 script does not generate the load"},
	{string(result.Invalid), result.Invalid.ExitCode(), "the number cannot be trusted: the host was not fit, the generator was the bottleneck, or the load was not balanced"},
	{string(result.Inconclusive), result.Inconclusive.ExitCode(), "the rounds were too few or too noisy to decide"},
	{string(result.Incorrect), result.Incorrect.ExitCode(), "a task was lost, duplicated, corrupted, misrouted or reordered, retried wrongly, or handed out before it was due; a read or a result was answered wrongly, a valid lease not extended, or a repeated key answered with another task: no figure is published"},
	{interruptedName, exitInterrupted, "SIGINT or SIGTERM ended the command before it had a verdict"},
}

func exitCodesText() string {
	var all []string
	for _, e := range exitCodes {
		all = append(all, fmt.Sprintf("%d %s", e.code, e.name))
	}
	return "Exit codes: " + strings.Join(all, ", ") + "."
}

// onlyCancelled reports whether an error contains nothing but context cancellation.
func onlyCancelled(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(part error) bool { return !onlyCancelled(part) })
	}
	return errors.Is(err, context.Canceled)
}
