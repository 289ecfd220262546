// Package generator is a load generator in a process of its own. A conductor starts the process and commands its load: slices in a
// closed loop, slices in an open loop, and the end. Between commands nothing is in flight.
//
// Serve is the generator's side, Process the conductor's. They talk as package dialogue says: over the generator's standard input and
// output, one command at a time. The generator ends when its input is closed.
package generator
