// Package generator is a load generator in a process of its own. A conductor starts the process and commands its load: slices in a
// closed loop, slices in an open loop, and the end. Between commands nothing is in flight.
//
// Serve is the generator's side, Process the conductor's. Commands and answers are JSON objects, one a line, over the process's
// standard input and output; each command gets one answer before the next one is sent. The generator ends when its input is closed.
package generator
