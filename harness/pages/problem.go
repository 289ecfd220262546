package pages

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Problem is an error in a page, at a line of its source.
type Problem struct {
	File string
	Line int // from 1
	Text string
}

func (p *Problem) Error() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// Problems returns all problems in an error of Generate, and the remaining errors.
func Problems(err error) (all []*Problem, other error) {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, part := range joined.Unwrap() {
			found, rest := Problems(part)
			all, other = append(all, found...), errors.Join(other, rest)
		}
		return all, other
	}
	var p *Problem
	if errors.As(err, &p) {
		return []*Problem{p}, nil
	}
	return nil, err
}

// refusal is an error of an action of a source.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

var position = regexp.MustCompile(`(?s)^template: .*?:(\d+)(?::\d+)?: (.*)$`)

// problem converts an error of text/template into a Problem: its line, and the text of the action's
// own error if there is one.
func problem(source string, err error) *Problem {
	p := &Problem{File: source, Line: 1, Text: err.Error()}
	if found := position.FindStringSubmatch(err.Error()); found != nil {
		p.Text = found[2]
		if line, err := strconv.Atoi(found[1]); err == nil {
			p.Line = line
		}
	}
	var said *refusal
	if errors.As(err, &said) {
		p.Text = said.text
	}
	return p
}
