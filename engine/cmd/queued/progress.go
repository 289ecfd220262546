package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/config"
)

// These are the intervals of progress messages. A command that takes less than progressFirst shows
// no progress.
const (
	progressFirst = 2 * time.Second
	// progressTerminal is the interval of updates on a terminal. Each update overwrites the
	// previous one.
	progressTerminal = 250 * time.Millisecond
	progressPlain    = 10 * time.Second // interval of lines if standard error is not a terminal
)

// progressTimes are the intervals of progress messages. The zero value means the constants above.
type progressTimes struct{ first, terminal, plain time.Duration }

// progress shows on standard error what a slow command is doing.
type progress struct {
	app     *app
	what    func() string
	started time.Time
	stop    chan struct{}
	ended   sync.WaitGroup
	columns int // width of the last update on the terminal
}

// during shows progress until the caller calls done. The function what returns a description of the
// command's action and progress; another goroutine calls it. In this period, nothing else may write
// to standard error.
func (a *app) during(what func() string) (done func()) {
	if a.output == formatJSON && !a.progress { // standard error must contain one JSON document only
		return func() {}
	}
	times := a.progressTimes
	if times == (progressTimes{}) {
		times = progressTimes{progressFirst, progressTerminal, progressPlain}
	}
	p := &progress{app: a, what: what, started: time.Now(), stop: make(chan struct{})}
	p.ended.Go(func() { p.run(times) })
	var once sync.Once
	return func() {
		once.Do(func() {
			close(p.stop)
			p.ended.Wait()
		})
	}
}

// showing makes a call that may take long, and shows progress while it runs.
func showing[T any](a *app, what string, call func() (T, error)) (T, error) {
	defer a.during(func() string { return what })()
	return call()
}

func (p *progress) run(times progressTimes) {
	every := times.plain
	if p.app.progress {
		every = times.terminal
	}
	next := time.NewTimer(times.first)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			p.show(p.what(), time.Since(p.started))
			next.Reset(every)
		case <-p.stop:
			p.clear()
			return
		}
	}
}

// show writes an update. On a terminal it overwrites the previous update; otherwise it writes
// another line.
func (p *progress) show(what string, took time.Duration) {
	text := fmt.Sprintf("%s (%s)", what, config.FormatDuration(took.Truncate(time.Second)))
	if !p.app.progress {
		p.app.note("%s\n", text)
		return
	}
	n := len([]rune(text))
	p.app.note("\r%s%s", text, strings.Repeat(" ", max(0, p.columns-n)))
	p.columns = n
}

func (p *progress) clear() {
	if p.columns > 0 {
		p.app.note("\r%s\r", strings.Repeat(" ", p.columns))
	}
}
