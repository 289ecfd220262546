// Package plantedclient deliberately slows down package client, in the same way as package planted
// slows down the server. It is a separate package so that clients do not import the dependencies of
// a server.
//
// Only binaries built with the tag planted contain the fault. In all others the functions are
// empty. In a binary with the tag, the environment variable PRONY_PLANTED=client:N makes a client
// compute N steps for each task that it sends over a stream. All other faults affect only the
// server.
package plantedclient
