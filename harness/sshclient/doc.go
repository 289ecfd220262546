// Package sshclient runs commands on other hosts with the system's ssh client, so that the user's configuration, agent, keys and known
// hosts hold. It never asks for a password.
//
// Host.Run runs a script and returns what the script printed. Host.Start starts a program in the foreground of a connection, and
// returns a Session: the program gets signals through it, and ends when the connection does. A Session's methods may be called from any
// goroutine. The other host needs a POSIX shell.
package sshclient
