// Package topology starts and stops the processes under test: one server, the nodes of a cluster,
// an embedded server, or servers on other hosts. It needs Linux.
//
// Start returns a Cluster that is ready: every server answers, and every shard has a leader. A
// Server is one of them for the whole round; a Node is one process of a server. The caller can
// kill, stop, pause, wipe and restart a Server, from any goroutine, and must call Stop. Stop leaves
// no process, port, data folder or socket behind.
//
// Servers on other hosts are started by SSH, or already run: then Start attaches to them, and Stop
// releases them. A server that ends unexpectedly is a *ServerError with the last lines of its log;
// Revive restarts it. With Config.Keep, data, ports and certificates stay in a folder, and Resume
// restarts the servers from it, even after the death of this process.
package topology
