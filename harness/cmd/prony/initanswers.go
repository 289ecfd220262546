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

// answers say what a new scenario is to measure, in the words of a command line.
type answers struct {
	name       string
	rate       string // arrivals per second, or scenario.Closed
	payload    string // a size, or two with a hyphen between them
	latencyMax string // a duration; "" for no limit
	durability string
	topology   string
}

func defaultAnswers() answers {
	return answers{rate: scenario.Closed, payload: "64-256", durability: "sync", topology: scenario.Single}
}

// question is what `prony init` asks, and the flag that answers it.
type question struct {
	flag  string
	what  string
	takes string // what an answer is
	oneOf []string
	into  *string
	check func(answer string) error // what is wrong with an answer, and the remedy
}

func (a *answers) questions() []question {
	return []question{
		{
			flag: "rate", what: "how tasks arrive", takes: `"closed" (each producer waits for its answer), or a rate such as 2k/s`,
			into: &a.rate, check: checkRate,
		},
		{
			flag: "payload", what: "bytes of a task", takes: "a size such as 64 or 4KiB, or a range such as 64-256",
			into: &a.payload, check: func(answer string) error { _, _, err := sizes(answer); return err },
		},
		{
			flag: "latency-max", what: "the longest time from enqueue to completion that 99 of 100 tasks may take", takes: "a duration such as 50ms; empty for no limit",
			into: &a.latencyMax, check: checkLatency,
		},
		{
			flag: "durability", what: "when the server acknowledges", takes: "sync (after fsync), interval (fsync every 10 ms) or none (after the write)",
			oneOf: []string{"sync", "interval", "none"}, into: &a.durability,
		},
		{
			flag: "topology", what: "what is put under test", takes: "single (one server), sharded (one server with 4 shards), raft (3 nodes) or embedded (in the process of the load)",
			oneOf: []string{scenario.Single, "sharded", scenario.Raft, scenario.Embedded}, into: &a.topology,
		},
	}
}

// wrong says what is wrong with an answer, or returns nil.
func (q question) wrong(answer string) error {
	switch {
	case len(q.oneOf) > 0 && !slices.Contains(q.oneOf, answer):
		return fmt.Errorf("%q is not one of %s", answer, strings.Join(q.oneOf, ", "))
	case q.check != nil:
		return q.check(answer)
	}
	return nil
}

// checkFlags returns everything that is wrong with the flags.
func (a *answers) checkFlags() error {
	var errs []error
	for _, q := range a.questions() {
		if err := q.wrong(*q.into); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", q.flag, err))
		}
	}
	return errors.Join(errs...)
}

// triesMax bounds how often one question is asked.
const triesMax = 5

// ask asks a person all questions, until ctx ends. An empty answer keeps the default.
func ask(ctx context.Context, in io.Reader, out io.Writer, a *answers) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := linesOf(ctx, in)
	say(out, "A scenario %q. Enter keeps what is in brackets.", a.name)
	for _, q := range a.questions() {
		for try := 1; ; try++ {
			_, _ = fmt.Fprintf(out, "\n%s\n  %s\n  [%s] ", q.what, q.takes, *q.into) // what can't be written is a person's loss only
			var answer string
			var more bool
			select {
			case answer, more = <-lines:
			case <-ctx.Done():
			}
			if answer = strings.TrimSpace(answer); !more {
				return fmt.Errorf("the question for --%s was not answered, and nothing is written: %w", q.flag, cmp.Or(ctx.Err(), io.ErrUnexpectedEOF))
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

// linesOf returns the lines of in, until ctx ends. A read from a terminal cannot be cancelled, so the reading of one may outlast ctx.
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

// sizes reads the answer for the payload: the least size and the most.
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
		return 0, 0, fmt.Errorf("%w: write a size such as 64 or 4KiB, or two as in 64-256", err)
	}
	if most < least {
		return 0, 0, fmt.Errorf("%q begins above its end: write %s-%s", answer, to, from)
	}
	return least, most, nil
}

// latencyLongest is the longest limit that is taken: a longer one is a unit mixed up.
const latencyLongest = time.Hour

func checkLatency(answer string) error {
	if answer == "" {
		return nil
	}
	d, err := time.ParseDuration(answer)
	if err != nil || d < time.Microsecond || d > latencyLongest {
		return fmt.Errorf("%q is not a duration from 1us to 1h: write one with its unit, such as 50ms or 1.5s", answer)
	}
	return nil
}
