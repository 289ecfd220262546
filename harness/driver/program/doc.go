// Package program lets a separate program translate between Prony and a kind of queue server, which
// is called the target. The ledger, the load, the windows and the clocks remain in Prony. The
// program launches the target's servers and forwards single operations to them.
//
// Prony uses Start to start such a program. A program in Go implements Target and calls Serve.
// README.md documents the protocol between the two, for programs in other languages.
package program

// Version is the version of the protocol. Both sides must have the same version.
const Version = 1

// Bounds of the protocol.
const (
	frameBytesMax  = 8 << 20 // bytes of a frame, without its length field
	callsMax       = 4096    // unanswered calls per connection
	sessionsMax    = 1 << 16 // producers and workers per connection
	tasksMax       = 4096    // tasks per call
	claimedMax     = 1 << 20 // claimed, unsettled tasks per connection
	reasonBytesMax = 1000    // longer reasons are truncated
	nameBytesMax   = 1<<16 - 1
)
