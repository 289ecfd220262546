// Package topology starts and stops the processes under test: one server, the nodes of a cluster, an embedded server, or servers on other
// hosts.
//
// Start returns a Cluster that is ready to serve: every server answers, and every shard has a leader. A Server is one of them
// for the whole round, a Node is one process of a server. The caller can kill, stop, pause, wipe and restart a Server, from any
// goroutine, and must call Stop. Nothing is left afterwards: no process, port, data folder or socket. Servers on other hosts are started
// by SSH, or run already: then Start attaches to them, and Stop lets go of them. A server that ends by itself is a *ServerError with the
// last lines of its log; Revive starts it again. With Config.Keep, data, ports and certificates stay in a folder, and Resume starts the
// servers on them again, also after the death of this process. Linux only.
package topology
