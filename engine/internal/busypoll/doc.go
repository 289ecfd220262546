// Package busypoll makes a connection poll its socket for a short time before its thread sleeps.
//
// Waking a sleeping thread costs both sides more time than processing a small frame. If two
// processes exchange requests and answers without pause, waking is most of the cost of a frame.
// Polling avoids this cost, but uses CPU time while no frame arrives. It helps a process that runs
// on one of several processors (GOMAXPROCS=1) and does not share that processor. In measurements,
// polling did not help processes that use more processors, and it made processes slower when a
// third process was busy.
// Credentials wraps gRPC's transport credentials, or returns them unchanged if polling does not
// Credentials wraps gRPC's transport credentials. If polling does not help, it returns them
// unchanged. Each connection decides whether to poll by the length of its waits (type habit). It
// polls only while nearly all its waits are short, so an idle connection costs nothing. It also
// polls only while no other connection of the process receives data. Under TLS, connections do not
// poll, because this package cannot access the socket.
//
// The goroutine that reads from a connection owns the connection's habit. All connections of a
// process share one value of type pollers, so that at most one of them polls at a time.
package busypoll
