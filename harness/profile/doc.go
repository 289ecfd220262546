// Package profile captures what a server's runtime records over exactly a round's window, and
// summarises it.
//
// Mutex, block and allocation profiles of Go's runtime are cumulative: they count from the start of
// the process. A snapshot is taken at each end of the window and the stored profile is their
// difference. A CPU profile is recorded while the window runs. Goroutines are counted at its end.
// What the process did only to be profiled is left out of all of them.
package profile
