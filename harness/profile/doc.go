// Package profile captures what a server's runtime records over exactly a round's window, summarises
// it, and names the locks in it.
//
// Mutex, block and allocation profiles of Go's runtime are cumulative: they count from the start of
// the process. A snapshot is taken at each end of the window and the stored profile is their
// difference. A CPU profile is recorded while the window runs. Goroutines are counted at its end.
// What the process did only to be profiled is left out of all of them.
//
// The profiles of several rounds are kept and added up (Merge), compared per cycle with those of another run (Diff), and
// those of mutexes and blocking are joined by the lock that they are of (Locks). A Recorder takes what a server executed in
// the seconds before something was noticed.
package profile
