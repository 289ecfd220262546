package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is how long work may take before its progress is shown. Tests that compare what a command prints set it, since how long work takes
// depends on the host.
var quiet = 2 * time.Second

// redrawn is the time between two drawings of a terminal's line.
const redrawn = time.Second

// activity tells a person that work goes on which takes longer than two seconds (quiet). On a terminal it draws one line over and over, with the step
// that is under way and the time so far. Elsewhere it writes a line for each step that takes as long, and no control characters. What the work writes
// to the activity goes to the same place, and is not mixed with that line.
type activity struct {
	what     string
	quiet    time.Duration
	terminal bool
	columns  func() int

	mu    sync.Mutex
	w     io.Writer
	began time.Time
	from  time.Time // of the step under way
	doing string    // the step under way; "" before the first
	drawn bool      // the cursor is on a line to be drawn over
	shown bool      // a line about the current step was written, off a terminal
}

// during carries out work, and tells a person of it if it takes longer than quiet. what is said with the time that all of it took.
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

// step says what is done from now on.
func (a *activity) step(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doing, a.from, a.shown = fmt.Sprintf(format, args...), time.Now(), false
}

// Write writes what the work has to say.
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
		_, _ = fmt.Fprint(a.w, string(line[:min(len(line), a.columns()-1)])) // what can't be written is a person's loss only
		a.drawn = true
	case !a.terminal && !a.shown && now.Sub(a.from) >= a.quiet:
		a.shown = true
		say(a.w, "  %s …", doing)
	}
}

// end says how long all of it took, if its progress was shown.
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
