// Package topology brings the processes under test up, one server or the nodes of a cluster, and takes them down. While
// they run it can end, pause, wipe and start each of them again. It leaves nothing of them behind: no process, no port, no
// data folder, no socket. Linux only.
package topology
