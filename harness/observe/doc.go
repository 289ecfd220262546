// Package observe reads signals of the host, of processes and of servers: the machine and the
// build, CPU time and memory of a process, pressure, steal and throttling of the host, and the
// counters of a server. It does not judge them.
//
// It reads /proc, /sys and the server's admin listener. Functions change nothing unless their
// comments say otherwise. If a signal cannot be read, it is reported as unknown, never as zero. A
// Watch samples the host in one goroutine between its start and Stop. All functions are safe for
// concurrent use. The package works only on Linux.
package observe
