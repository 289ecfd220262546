// Package busypoll makes a connection poll its socket for a short time before its thread sleeps.
//
// Waking a sleeping thread costs both sides more time than a small frame. If two processes exchange
// requests and answers without pause, waking is most of the cost of a frame. Polling saves this
// cost in exchange for the idle time between frames. It helps a process that runs on one of several
// processors (GOMAXPROCS=1) and has that processor for itself. In measurements, polling gained
// nothing with more processors, and lost with a third busy process.
//
// Credentials wraps gRPC's transport credentials, or returns them unchanged if polling does not
// help. Each connection decides by the length of its waits (habit). It polls only while nearly all
// its waits are short, so an idle connection costs nothing, and only while no other connection of
// the process receives data. Under TLS the inner connection is not visible, so it does not poll.
//
// The goroutine that reads from a connection owns the connection's habit. All connections of a
// process share one pollers value, so that at most one of them polls at a time.
package busypoll
