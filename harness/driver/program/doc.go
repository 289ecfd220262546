// Package program lets a program of its own translate between Prony and a kind of queue server, the target. The ledger, the load, the windows
// and the clocks stay in Prony; the program launches the target's servers and passes single operations on to them.
package program
