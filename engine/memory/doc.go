// Package memory bounds the memory of a server and divides it among the server's parts.
//
// A Size is the configured bound. Shares has the limit of each part. A Budget counts the bytes that
// several users take. A Gate watches the process: near the limit it delays input, refuses calls and
// closes connections, so that the server keeps running.
//
//	total, err := memory.DefaultSize.Resolve()
//	shares := memory.SharesOf(total, shards, clustered)
//	gate := memory.NewGate(total, cutAConnection, log)
//	go gate.Watch(ctx)       // measures the process periodically
//	gate.Received(n)         // after each read from a connection; blocks while the process is too large
//	err = gate.Admit()       // at the beginning of each call; ErrExhausted while the process is too large
//
// Budget and Gate are safe for concurrent use, and their nil values have no limit. ErrExhausted
// tells a client to retry later.
package memory
