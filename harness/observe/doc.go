// Package observe reads what a host, a process and a server say about themselves: the description
// of the machine and of the build, the CPU time and memory of a process, and a server's counters.
// It reads /proc, /sys and the server's admin listener; it changes nothing except where a function
// says so. All functions may be called from any goroutine. Linux only.
package observe
