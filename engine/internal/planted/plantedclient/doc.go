// Package plantedclient makes package client slower on purpose, as package planted does with the server. It is a package of its own
// so that clients do not import what a server needs.
//
// The fault is in binaries built with the tag planted only. In all others the functions are empty. With the tag, the environment
// variable PRONY_PLANTED=client:N makes a client compute N steps for each task that it sends over a stream. Another fault is the
// server's, and has no effect here.
package plantedclient
