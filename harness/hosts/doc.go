// Package hosts makes hosts out of one machine: each has a network namespace, an address and a link to the others that is as slow, as
// lossy and as narrow as a scenario says. Servers are started on them, see proc.Settings.
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
// Nothing of this is in the network namespace of the machine. Enter replaces the process by itself in a fresh namespace, and the hosts
// are made from there. A namespace has no name: it lives as long as a process in it or a descriptor of it, and its links end with it,
// also where this process is killed.
//
// Parts: namespace and enter (namespaces), link (links and addresses), delay, forwarder and process (delay), loss, bandwidth, ping (measures
// the round trip), and network, which joins them.
package hosts
