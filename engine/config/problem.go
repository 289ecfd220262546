package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one problem of a configuration.
type Problem struct {
	// At is the place of the problem, such as "queued.hcl:3:5", "--shards" or "QUEUED_SHARDS".
	At string `json:"at"`
	// Message names the setting and its value.
	Message string `json:"message"`
	// Remedy describes how to correct the problem, or is "".
	Remedy string `json:"remedy,omitempty"`

	offset int // byte offset in the file, from 1; 0 for a problem outside the file
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.At + ": " + p.Message
	if p.Remedy != "" {
		text += ": " + p.Remedy
	}
	return text
}

// problemsMax is the maximum number of problems that are stored.
const problemsMax = 100

// Problems contains all problems of a configuration, as one error.
type Problems struct {
	List []Problem
	// Omitted is the number of problems that List does not contain because it already has 100.
	Omitted int
}

func (p *Problems) add(at, message, remedy string) { p.addAt(0, at, message, remedy) }

func (p *Problems) addAt(offset int, at, message, remedy string) {
	if len(p.List) == problemsMax {
		p.Omitted++
		return
	}
	p.List = append(p.List, Problem{At: at, Message: message, Remedy: remedy, offset: offset})
}

// Error returns the problems, one per line.
func (p *Problems) Error() string {
	lines := make([]string, 0, len(p.List)+1)
	for _, problem := range p.List {
		lines = append(lines, problem.String())
	}
	if p.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", p.Omitted))
	}
	return strings.Join(lines, "\n")
}

// err returns p as an error, or nil if there is no problem. It sorts the problems in the file to
// the front, in the order of their offsets.
func (p *Problems) err() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		if (a.offset == 0) != (b.offset == 0) {
			return b.offset - a.offset
		}
		return a.offset - b.offset
	})
	return p
}
