// Package dialogue sends commands to a child process over its standard input and output. Commands
// and answers are JSON objects, one per line. Each command has a number. The answer has the same
// number, and must arrive before the next command is sent. The process ends when its input is
// closed.
//
// The parent uses a Process to send commands. The child calls Serve to execute them. If the two may
// be of different builds, the first command is CommandHello.
package dialogue

import (
	"context"
	"encoding/json"
	"fmt"
)

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

// CommandHello is the command that compares the versions of both sides.
const CommandHello = "hello"

// version is the argument and the result of CommandHello.
type version struct {
	Version int `json:"version"`
}

// Hello returns the command CommandHello of a process that has the given version. Serve returns if
// the versions differ.
func Hello(own int) func(context.Context, json.RawMessage) (any, error) {
	return Do(func(_ context.Context, v version) (version, error) {
		if v.Version != own {
			return v, fmt.Errorf("prony has version %d of the protocol, this program has version %d: build both from the same commit", v.Version, own)
		}
		return v, nil
	})
}
