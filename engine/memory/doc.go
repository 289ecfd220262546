// Package memory bounds the memory of a server and divides it among the server's parts.
//
// A Size is the configured bound. Shares are the limits of each part. A Budget counts bytes that several users take. A Gate
// watches the process: near the limit it delays input, refuses calls and cuts connections, so that the server keeps running.
package memory
