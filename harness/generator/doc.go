// Package generator is a load generator in a separate process. A conductor starts the process and
// commands its load: slices in a closed loop, slices in an open loop, and the end. Between commands
// no task is in flight.
//
// The generator calls Serve, and the conductor uses a Process. They communicate as defined in
// package dialogue: over the generator's standard input and output, one command at a time. The
// generator ends when its input is closed.
package generator
