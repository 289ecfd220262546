// Package profile captures the runtime profiles of a server over exactly the window of a round, summarises them, and names the
// locks in them.
//
// Mutex, block and allocation profiles of Go's runtime are cumulative: they count from the start of
// the process. A snapshot is taken at each end of the window and the stored profile is their
// difference. A CPU profile is recorded while the window runs. Goroutines are counted at its end.
// What the process did only to be profiled is left out of all of them.
//
// Merge stores and sums the profiles of several rounds. Diff compares them per cycle with those of another run. Locks joins the
// mutex and the block profile by lock; the engine's package symbols names the locks and channels. A Recorder takes the execution
// trace of the seconds before a slow cycle. A server's CPU profile is divided among areas of its code: see areaPrefixes.
package profile
