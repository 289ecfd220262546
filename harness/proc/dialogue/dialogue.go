// Package dialogue sends commands to a child process over its standard input and output. Commands
// and answers are JSON objects, one per line. Each command has a number and gets one answer with
// that number before the next command is sent. The process ends when its input is closed.
//
// Process is the side that sends commands; Serve executes them.
package dialogue

import "encoding/json"

// LineBytesMax bounds the size of a command or an answer.
const LineBytesMax = 1 << 20

// Request is a command.
type Request struct {
	Call uint64          `json:"call,omitempty"` // number of the command, from 1
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

// Answer is the answer to a command: either its error or its result.
type Answer struct {
	Call  uint64          `json:"call,omitempty"` // number of the command
	Error string          `json:"error,omitempty"`
	Done  json.RawMessage `json:"done,omitempty"`
}
