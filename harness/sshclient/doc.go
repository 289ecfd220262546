// Package sshclient runs commands on other hosts with the system's ssh client, so that the user's
// configuration, agent, keys and known hosts apply. It never asks for a password.
//
// Host.Run runs a script and returns its output. Host.Start starts a program in the foreground of a
// connection, and returns a Session. A Session can send signals to the program. The program ends
// when the connection ends. A Session is safe for concurrent use. The other host needs a POSIX
// shell.
package sshclient
