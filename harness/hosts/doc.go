// Package hosts simulates several hosts on one machine. Each host has a network namespace, an
// address, and a link to the other hosts. A scenario defines the delay, the loss and the bandwidth
// of the link. Servers can be started on the hosts; see proc.Settings.
//
//	 load generator (the network namespace of this process, 198.18.1.1)
//	    │veth          │veth          │veth            no added delay
//	┌───┴────┐     ┌───┴────┐     ┌───┴────┐
//	│ n1     │     │ n2     │     │ n3     │           198.18.0.1, .2, .3
//	│ tbf    │     │ tbf    │     │ tbf    │           bandwidth: what a host sends to the others
//	│ numgen │     │ numgen │     │ numgen │           loss: of what a host receives from the others
//	└───┬────┘     └───┬────┘     └───┬────┘
//	    │TUN           │TUN           │TUN
//	    └──────────────┼──────────────┘
//	           forwarder process                       delay: half a round trip for each packet
//
// The network namespace of the machine contains no part of this. Enter executes the program again
// in a new namespace, and Start creates the hosts from there. The namespaces have no names. A
// namespace and its links disappear when no process is in it and no descriptor refers to it, even
// if this process is killed. The files are namespace and enter (namespaces), link (links and
// addresses), delay, forwarder and process (delay), loss, bandwidth, ping (measures the round
// trip), and network, which combines them.
package hosts
