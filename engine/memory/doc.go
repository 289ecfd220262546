// Package memory says how much memory a server may take, and what each of its parts may have of that.
//
// A Size is what is configured, Shares what each part has, a Budget counts bytes that many take from, and a Gate watches
// the process: over its limit it refuses and cuts what comes in, so that the server goes on.
package memory
