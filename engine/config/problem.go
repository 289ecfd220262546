package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// At says where: "queued.hcl:3:5", "--shards" or "QUEUED_SHARDS".
	At string `json:"at"`
	// Message names the setting and its value.
	Message string `json:"message"`
	// Remedy is what to write instead; it may be empty.
	Remedy string `json:"remedy,omitempty"`

	offset int // in the file, from 1; 0 for a problem that is not in it
}

// String is the problem on one line.
func (p Problem) String() string {
	text := p.At + ": " + p.Message
	if p.Remedy != "" {
		text += ": " + p.Remedy
	}
	return text
}

// problemsMax bounds how many problems are kept.
const problemsMax = 100

// Problems is everything that is wrong with a configuration, as one error.
type Problems struct {
	List []Problem
	// Omitted is how many more there are than the 100 that are kept.
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

// Error gives each problem a line of its own.
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

// err returns p as an error, nil when there is no problem. Those of the file come first, in its order.
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
