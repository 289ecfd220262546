// Package program lets a separate program translate between Prony and a kind of queue server, the
// target. The ledger, the load, the windows and the clocks stay in Prony. The program launches the
// target's servers and forwards single operations to them.
//
// Start starts such a program, and is the side of Prony. Serve is the side of programs in Go, which
// implement Target. README.md documents the protocol between the two, for programs in other
// languages.
package program

// Version is the version of the protocol. Both sides must have the same version.
const Version = 1

// Bounds of the protocol.
const (
	frameBytesMax  = 8 << 20 // of a frame without its length
	callsMax       = 4096    // unanswered calls of a connection
	sessionsMax    = 1 << 16 // producers and workers of a connection
	tasksMax       = 4096    // tasks of a call
	claimedMax     = 1 << 20 // claimed, unsettled tasks of a connection
	reasonBytesMax = 1000    // longer reasons are truncated
	nameBytesMax   = 1<<16 - 1
)
