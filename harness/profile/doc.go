// Package profile captures the runtime profiles of a process during the window of a round,
// summarises them, and finds the names of the locks in them.
//
// Mutex, block and allocation profiles of the Go runtime are cumulative: they contain all values
// since the start of the process. The package takes a snapshot at the start and at the end of the
// window and stores the difference. It records a CPU profile during the window, and a goroutine
// profile at the end of the window. It removes the samples of work that the process did only
// because it was profiled.
//
// Merge stores and sums the profiles of several rounds. Diff compares their values per cycle with
// the values of another run. Locks joins the mutex and the block profile by lock. Package symbols
// of the engine contains the names of locks and channels. A Recorder provides the execution trace
// of the last seconds before a slow cycle. A server's CPU profile is divided among areas of its
// code: see areaPrefixes.
package profile
