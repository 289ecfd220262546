// Package observe reads signals of the host, of processes and of servers: the machine and the
// build, CPU time and memory of a process, pressure, steal and throttling of the host, and the
// counters of a server. It does not judge them.
//
// It reads /proc, /sys and the server's admin listener, and changes nothing unless a function
// documents it. A signal that cannot be read is unknown, never zero. A Watch samples the host
// between its start and Stop in one goroutine. All functions are safe for concurrent use. Linux
// only.
package observe
