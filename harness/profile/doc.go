// Package profile captures the runtime profiles of a process over the window of a round, summarises
// them, and names the locks in them.
//
// Mutex, block and allocation profiles of the Go runtime are cumulative: they count from the start
// of the process. The package takes a snapshot at each end of the window and stores the difference.
// It records a CPU profile during the window, and counts goroutines at its end. It removes the work
// that the process did only to be profiled.
//
// Merge stores and sums the profiles of several rounds. Diff compares them per cycle with those of
// another run. Locks joins the mutex and the block profile by lock; package symbols of the engine
// has the names of locks and channels. A Recorder takes the execution trace of the seconds before a
// slow cycle. A server's CPU profile is divided among areas of its code: see areaPrefixes.
package profile
