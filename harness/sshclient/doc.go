// Package sshclient runs commands on other hosts with the system's ssh client, so that the user's
// configuration, agent, keys and known hosts apply. It never asks for a password.
//
// Host.Run runs a script and returns its output. Host.Start starts a program in the foreground of a
// connection, and returns a Session: the program gets signals through it, and ends when the
// connection does. A Session is safe for concurrent use. The other host needs a POSIX shell.
package sshclient
