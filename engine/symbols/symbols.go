// Package symbols lists the locks and channels that the functions of the server use, and the
// reasons why goroutines wait in these functions. With these tables, a reader of block and mutex
// profiles can name locks and distinguish contention from idleness.
//
// The tables describe the build that they are compiled into. The table Uses is generated from the
// source of the engine, and a test compares it with the source. Waits is written by hand, and a
// test checks that its functions exist. The tables never change, so they are safe for concurrent
// use.
package symbols

import "strings"

// Module is the prefix of the packages of this project.
const Module = "github.com/pronybench/prony/"

// Use lists the locks that a function locks or unlocks, and the channels that it sends to and
// receives from. Each is written as "package.Type.field".
type Use struct {
	Locks, Sends, Receives []string
}

// Reason is the reason why a goroutine waits.
type Reason int

// These are the reasons to wait.
const (
	ForLock   Reason = iota // for a lock, for room in a channel, or for an expected element
	ForWork                 // for work: the goroutine is idle
	ForAnswer               // for a goroutine, disk or node whose time is measured separately
)

// Wait describes a function whose goroutines wait for something other than a lock.
type Wait struct {
	Function string // the full name, or a prefix of names followed by *
	Anywhere bool   // true: the function may be anywhere in the stack; false: at its top
	For      Reason
	Why      string
	Former   bool // the function is not in this engine, but in profiles of earlier builds
}

// Is reports whether w describes the function with the given name.
func (w *Wait) Is(function string) bool {
	if beginning, found := strings.CutSuffix(w.Function, "*"); found {
		return strings.HasPrefix(function, beginning)
	}
	return function == w.Function
}
