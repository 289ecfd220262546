// Package plantedclient slows down package client deliberately, as package planted does with the
// server. It is a separate package so that clients do not import the dependencies of a server.
//
// Only binaries built with the tag planted have the fault. In all others the functions are empty.
// With the tag, the environment variable PRONY_PLANTED=client:N makes a client compute N steps for
// each task that it sends over a stream. Other faults affect only the server.
package plantedclient
