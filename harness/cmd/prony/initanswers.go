package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// answers are the settings of a new scenario, in the syntax of the command line.
type answers struct {
	name       string
	rate       string // arrivals per second, or scenario.Closed
	payload    string // a size, or a range such as 64-256
	latencyMax string // a duration; "" for no limit
	durability string
	topology   string
}

func defaultAnswers() answers {
	return answers{rate: scenario.Closed, payload: "64-256", durability: "sync", topology: scenario.Single}
}

// question is a question of `prony init`, with the flag that answers it.
type question struct {
	flag  string
	what  string
	takes string // syntax of an answer
	oneOf []string
	into  *string
	check func(answer string) error // returns an error with a remedy if an answer is invalid
}

func (a *answers) questions() []question {
	return []question{
		{
			flag: "rate", what: "how tasks arrive", takes: `"closed" (each producer waits for the response before its next call), or a rate such as 2k/s`,
			into: &a.rate, check: checkRate,
		},
		{
			flag: "payload", what: "payload bytes of a task", takes: "a size such as 64 or 4KiB, or a range such as 64-256",
			into: &a.payload, check: func(answer string) error { _, _, err := sizes(answer); return err },
		},
		{
			flag: "latency-max", what: "limit of the 99th percentile of the time from enqueue to completion", takes: "a duration such as 50ms; empty for no limit",
			into: &a.latencyMax, check: checkLatency,
		},
		{
			flag: "durability", what: "when the server acknowledges", takes: "sync (after fsync), interval (fsync every 10 ms) or none (after the write)",
			oneOf: []string{"sync", "interval", "none"}, into: &a.durability,
		},
		{
			flag: "topology", what: "system under test", takes: "single (one server), sharded (one server with 4 shards), raft (3 nodes) or embedded (in the load generator's process)",
			oneOf: []string{scenario.Single, "sharded", scenario.Raft, scenario.Embedded}, into: &a.topology,
		},
	}
}

func (q question) wrong(answer string) error {
	switch {
	case len(q.oneOf) > 0 && !slices.Contains(q.oneOf, answer):
		return fmt.Errorf("%q is not one of %s", answer, strings.Join(q.oneOf, ", "))
	case q.check != nil:
		return q.check(answer)
	}
	return nil
}

func (a *answers) checkFlags() error {
	var errs []error
	for _, q := range a.questions() {
		if err := q.wrong(*q.into); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", q.flag, err))
		}
	}
	return errors.Join(errs...)
}

// triesMax is the maximum number of times that one question is asked.
const triesMax = 5

// ask asks all questions until ctx ends. An empty answer keeps the default.
func ask(ctx context.Context, in io.Reader, out io.Writer, a *answers) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := linesOf(ctx, in)
	say(out, "Scenario %q. Press Enter to keep the value in brackets.", a.name)
	for _, q := range a.questions() {
		for try := 1; ; try++ {
			// Nothing depends on the prompt.
			_, _ = fmt.Fprintf(out, "\n%s\n  %s\n  [%s] ", q.what, q.takes, *q.into)
			var answer string
			var more bool
			select {
			case answer, more = <-lines:
			case <-ctx.Done():
			}
			if answer = strings.TrimSpace(answer); !more {
				return fmt.Errorf("no answer for --%s, so nothing is written: %w", q.flag, cmp.Or(ctx.Err(), io.ErrUnexpectedEOF))
			}
			if answer == "" {
				break
			}
			err := q.wrong(answer)
			if err == nil {
				*q.into = answer
				break
			}
			if try == triesMax {
				return fmt.Errorf("--%s: %w; nothing is written", q.flag, err)
			}
			say(out, "  %v", err)
		}
	}
	say(out, "")
	return nil
}

// linesOf returns the lines of in until ctx ends. A read from a terminal cannot be cancelled, so
// the reading goroutine may outlast ctx by one line.
func linesOf(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for read := bufio.NewScanner(in); read.Scan(); {
			select {
			case lines <- read.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

func checkName(name string) error {
	if !hclfile.IsName(name) {
		return fmt.Errorf("%q is not a name for a scenario: %s", name, hclfile.NameRule)
	}
	return nil
}

func checkRate(answer string) error {
	if answer == scenario.Closed {
		return nil
	}
	if _, err := scenario.ParseRate(answer); err != nil {
		return fmt.Errorf("%w: write a rate such as 800/s, 2k/s or 1.5M/s, or %q", err, scenario.Closed)
	}
	return nil
}

// sizes parses the answer for the payload into the minimum and the maximum size.
func sizes(answer string) (least, most int, err error) {
	from, to, both := strings.Cut(answer, "-")
	if !both {
		to = from
	}
	least, err = scenario.ParseSize(from)
	if err == nil {
		most, err = scenario.ParseSize(to)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: write a size such as 64 or 4KiB, or a range such as 64-256", err)
	}
	if most < least {
		return 0, 0, fmt.Errorf("range %q is reversed: write %s-%s", answer, to, from)
	}
	return least, most, nil
}

// latencyLongest is the largest accepted limit. A larger value is probably in the wrong unit.
const latencyLongest = time.Hour

func checkLatency(answer string) error {
	if answer == "" {
		return nil
	}
	d, err := time.ParseDuration(answer)
	if err != nil || d < time.Microsecond || d > latencyLongest {
		return fmt.Errorf("%q is not a duration between 1us and 1h: write a number with its unit, such as 50ms or 1.5s", answer)
	}
	return nil
}
