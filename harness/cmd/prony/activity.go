package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is the time after which a running command shows its progress. Tests that compare a
// command's output set it, because the duration of work depends on the host.
var quiet = 2 * time.Second

// redrawn is the interval between two redraws of the progress line on a terminal.
const redrawn = time.Second

// activity shows the progress of work that takes longer than quiet. On a terminal it redraws one
// line with the current step and the elapsed time. Elsewhere it writes one line for each step that
// takes longer than quiet, without control characters. The work may write to the activity; its
// output goes to the same writer and does not mix with the progress line.
type activity struct {
	what     string
	quiet    time.Duration
	terminal bool
	columns  func() int

	mu    sync.Mutex
	w     io.Writer
	began time.Time
	from  time.Time // start of the current step
	doing string    // the current step; "" before the first
	drawn bool      // the cursor is on a progress line that the next output erases
	shown bool      // a line about the current step was written; not used on a terminal
}

// during runs work and shows its progress if it takes longer than quiet. It then ends with a line
// that has what and the total time.
func during(w io.Writer, what string, work func(a *activity) error) error {
	now := time.Now()
	a := &activity{what: what, quiet: quiet, terminal: isTerminal(w), columns: columns(w), w: w, began: now, from: now}
	return a.during(work)
}

func (a *activity) during(work func(a *activity) error) error {
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(redrawn)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				a.tick(time.Now())
			case <-done:
				return
			}
		}
	})
	err := work(a)
	close(done)
	ticking.Wait()
	a.end(time.Now(), err)
	return err
}

func (a *activity) step(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doing, a.from, a.shown = fmt.Sprintf(format, args...), time.Now(), false
}

// Write writes output of the work after it erased the progress line.
func (a *activity) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.erase()
	return a.w.Write(p)
}

func (a *activity) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	doing := a.what
	if a.doing != "" {
		doing += ": " + a.doing
	}
	switch {
	case a.terminal && now.Sub(a.began) >= a.quiet:
		a.erase()
		line := []rune(fmt.Sprintf("  %s, %s", doing, soFar(now.Sub(a.began))))
		// Progress is optional: nothing depends on it.
		_, _ = fmt.Fprint(a.w, string(line[:min(len(line), a.columns()-1)]))
		a.drawn = true
	case !a.terminal && !a.shown && now.Sub(a.from) >= a.quiet:
		a.shown = true
		say(a.w, "  %s …", doing)
	}
}

// end writes the total time if progress was shown.
func (a *activity) end(now time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.erase()
	if took := now.Sub(a.began); err == nil && took >= a.quiet {
		say(a.w, "  %s: %s", a.what, soFar(took))
	}
}

func (a *activity) erase() {
	if a.drawn {
		_, _ = fmt.Fprint(a.w, "\r\x1b[K")
		a.drawn = false
	}
}

func soFar(d time.Duration) string { return d.Truncate(time.Second).String() }
