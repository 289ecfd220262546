// Package symbols lists the locks and channels that the functions of the server use, and why
// goroutines wait in these functions. A reader of block and mutex profiles uses these tables to
// name locks and to distinguish contention from idleness.
//
// The tables describe the build that they are compiled into. Uses is generated from the source of
// the engine, and a test compares the two. Waits is written by hand, and a test checks that its
// functions exist. The tables never change, so they are safe for concurrent use.
package symbols

import "strings"

// Module is the prefix of the packages of this project.
const Module = "github.com/pronybench/prony/"

// Use has the locks that a function locks or unlocks, and the channels that it sends to and
// receives from, as "package.Type.field".
type Use struct {
	Locks, Sends, Receives []string
}

// Reason is why a goroutine waits.
type Reason int

// Reasons to wait.
const (
	ForLock   Reason = iota // or a full channel, or a channel that another goroutine should fill
	ForWork                 // the goroutine is idle
	ForAnswer               // of a goroutine, disk or node whose time is measured separately
)

// Wait is a function whose goroutines wait for something other than a lock.
type Wait struct {
	Function string // the full name, or a prefix of the name followed by *
	Anywhere bool   // the function may be anywhere in the stack
	For      Reason
	Why      string
}

// Is reports whether w describes a function.
func (w *Wait) Is(function string) bool {
	if beginning, found := strings.CutSuffix(w.Function, "*"); found {
		return strings.HasPrefix(function, beginning)
	}
	return function == w.Function
}
