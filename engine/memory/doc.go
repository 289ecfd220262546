// Package memory limits the memory of a server and divides it among the server's parts.
//
// A Size is the configured limit. Shares contains the limit of each part. A Budget limits the bytes
// that several users take together. A Gate watches the memory of the process. Near the limit it
// delays input, refuses calls and closes connections, so that the process does not exceed the
// limit.
//
//	total, err := memory.DefaultSize.Resolve()
//	shares := memory.SharesOf(total, shards, clustered)
//	gate := memory.NewGate(total, cutAConnection, log)
//	go gate.Watch(ctx)       // measures the process periodically
//	gate.Received(n)         // after each read from a connection; blocks while the process is too large
//	err = gate.Admit()       // at the beginning of each call; ErrExhausted while the process is too large
//
// Budget and Gate are safe for concurrent use. A nil Budget or Gate has no limit.
package memory
