package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/config"
)

// Times of progress. A command that takes less than progressFirst shows none.
const (
	progressFirst = 2 * time.Second
	// Between two updates on a terminal, each of which overwrites the previous one.
	progressTerminal = 250 * time.Millisecond
	progressPlain    = 10 * time.Second // between two lines elsewhere
)

// progressTimes are the intervals of progress. The zero value means the constants above.
type progressTimes struct{ first, terminal, plain time.Duration }

// progress shows the state of a slow command on standard error.
type progress struct {
	app     *app
	what    func() string
	started time.Time
	stop    chan struct{}
	ended   sync.WaitGroup
	columns int // the width of the last update on the terminal
}

// during shows progress until the returned function is called. what describes the command's action
// and progress; it is called from another goroutine. Nothing else may write to standard error
// during that time.
func (a *app) during(what func() string) (done func()) {
	if a.output == formatJSON && !a.progress { // a program reads standard error as one document
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

// showing makes a call that may take long and shows progress during it.
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

// show writes an update: over the previous one on a terminal, otherwise on a separate line.
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

// clear removes the last update from the terminal.
func (p *progress) clear() {
	if p.columns > 0 {
		p.app.note("\r%s\r", strings.Repeat(" ", p.columns))
	}
}
