// Package topology starts and stops the processes under test: one server, the nodes of a cluster,
// an embedded server, or servers on other hosts. It needs Linux.
//
// Start returns a Cluster that is ready: every server answers, and every shard has a leader. A
// Server represents one server of the cluster during the whole round; a Node represents one process
// of a server. The caller can kill, stop, pause, wipe and restart a Server, from any goroutine. The
// caller must call Stop, which leaves no process, port, data folder or socket behind.
//
// Servers on other hosts are started by SSH, or they are already running. In the second case Start
// attaches to them, and Stop releases them. If a server ends unexpectedly, the error is a
// *ServerError with the last lines of its log, and Revive can restart the server. If Config.Keep is
// set, data, ports and certificates remain in a folder. Resume can restart the servers from this
// folder, even after the death of this process.
package topology
