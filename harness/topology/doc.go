// Package topology brings the processes under test up and takes them down, and leaves nothing of
// them behind: no process, no port, no data folder, no socket. Linux only.
package topology
