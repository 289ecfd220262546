// Package dialogue commands a child process over its standard input and output. Commands and answers are JSON objects, one a line; each
// command has a number and gets one answer with that number before the next one is sent. The process ends when its input is closed.
//
// Process is the side that commands, Serve the side that executes.
package dialogue

import "encoding/json"

// LineBytesMax bounds a command and an answer.
const LineBytesMax = 1 << 20

// Request is a command.
type Request struct {
	Call uint64          `json:"call,omitempty"` // counts the commands from 1 on
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

// Answer is what is answered to a command: either the error of one that failed, or what was done.
type Answer struct {
	Call  uint64          `json:"call,omitempty"` // that of the command
	Error string          `json:"error,omitempty"`
	Done  json.RawMessage `json:"done,omitempty"`
}
