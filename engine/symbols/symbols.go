// Package symbols says which locks and channels the functions of the server use, and what goroutines wait for in them. A reader
// of block and mutex profiles names locks by these tables and tells contention from idleness.
//
// The tables belong to the build that they are compiled into. Uses is generated from the source of the engine, and a test
// compares the two; Waits is written by hand, and a test checks that its functions exist. Nothing changes the tables, so they
// may be read from any goroutine.
package symbols

import "strings"

// Module is the prefix of the packages of this project.
const Module = "github.com/pronybench/prony/"

// Use is the locks and channels that a function locks or unlocks, sends to and receives from, as "package.Type.field".
type Use struct {
	Locks, Sends, Receives []string
}

// Reason is what a waiting goroutine waits for.
type Reason int

// Reasons to wait.
const (
	ForLock   Reason = iota // or for a full channel, or for one that another goroutine should fill
	ForWork                 // the goroutine has nothing to do
	ForAnswer               // of a goroutine, disk or node whose time has an account of its own
)

// Wait is a function in which goroutines wait for something other than a lock.
type Wait struct {
	Function string // the full name, or the beginning of the name and a *
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
