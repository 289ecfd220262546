// Package program lets a program of its own translate between Prony and a kind of queue server, the target. The ledger, the load, the windows
// and the clocks stay in Prony; the program launches the target's servers and passes single operations on to them.
//
// Start starts such a program and is Prony's side. Serve is the side of programs in Go, which implement Target. README.md documents the
// protocol between the two, for programs in other languages.
package program

// Version is that of the protocol. Both sides must have the same one.
const Version = 1

// The bounds of the protocol.
const (
	frameBytesMax  = 8 << 20 // a frame, without its length
	callsMax       = 4096    // calls of a connection that are not answered
	sessionsMax    = 1 << 16 // producers and workers of a connection
	tasksMax       = 4096    // tasks of a call
	claimedMax     = 1 << 20 // tasks of a connection that are claimed and not settled
	reasonBytesMax = 1000    // longer reasons are cut
	nameBytesMax   = 1<<16 - 1
)
