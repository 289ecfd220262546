//go:build planted

package planted

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clockVariable is the environment variable for faults of the wall clock. Its value is the name of
// a file that describes how wrong the process's wall clock is.
const clockVariable = "PRONY_PLANTED_CLOCK"

// wrong describes how wrong the wall clock is.
type wrong struct {
	offset   time.Duration
	driftPPM int64
}

// wall is the state of the wall clock's fault. Begin sets file before the clock is read.
var wall struct {
	file  string
	began time.Time
	last  atomic.Pointer[wrong] // the last valid content of the file
}

func beginClock() error {
	wall.file, wall.began = os.Getenv(clockVariable), time.Now()
	wall.last.Store(&wrong{})
	if wall.file == "" {
		return nil
	}
	w, err := readWrong(wall.file)
	if err != nil {
		return fmt.Errorf("%s: %w", clockVariable, err)
	}
	wall.last.Store(&w)
	return nil
}

func readWrong(file string) (w wrong, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return w, err
	}
	fields := strings.Fields(string(text))
	if len(fields) != 1 && len(fields) != 2 {
		return w, fmt.Errorf("%s: %q is not an offset, and maybe a drift in parts per million", file, text)
	}
	if w.offset, err = time.ParseDuration(fields[0]); err == nil && len(fields) == 2 {
		w.driftPPM, err = strconv.ParseInt(fields[1], 10, 32)
	}
	if err != nil {
		return w, fmt.Errorf("%s: %w", file, err)
	}
	return w, nil
}

// Wall returns the reading of the faulty wall clock when the correct reading is ns. Both are in
// nanoseconds. It reads the file each time, so that a test can step the clock of a running process.
// If the file cannot be read, Wall uses the last valid content.
func Wall(ns int64) int64 {
	if wall.file == "" {
		return ns
	}
	if w, err := readWrong(wall.file); err == nil {
		wall.last.Store(&w)
	}
	w := wall.last.Load()
	return ns + int64(w.offset) + int64(time.Since(wall.began))/1_000_000*w.driftPPM
}
