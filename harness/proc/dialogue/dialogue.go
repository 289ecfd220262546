// Package dialogue sends commands to a child process over its standard input and output. Commands
// and answers are JSON objects, one per line. Each command has a number. The answer has the same
// number, and must arrive before the next command is sent. The process ends when its input is
// closed.
//
// The parent uses a Process to send commands. The child calls Serve to execute them.
package dialogue

import "encoding/json"

// LineBytesMax bounds the size of a command and of an answer, in bytes.
const LineBytesMax = 1 << 20

// Request is a command.
type Request struct {
	Call uint64          `json:"call,omitempty"` // number of the command, from 1
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

// Answer is the answer to a command. It contains either an error or a result.
type Answer struct {
	Call  uint64          `json:"call,omitempty"` // number of the command
	Error string          `json:"error,omitempty"`
	Done  json.RawMessage `json:"done,omitempty"`
}
