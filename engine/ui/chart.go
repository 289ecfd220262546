package ui

import (
	"fmt"
	"strings"
	"time"
)

type point struct {
	at    time.Time
	value float64
}

// line is one line of a chart. Its class selects its colour.
type line struct {
	class  string
	points []point
}

// chart is a small chart, drawn by the template "chart".
type chart struct {
	Label         string
	Width, Height int
	Max           string // the value at the top
	Lines         []drawn
}

type drawn struct{ Class, Points string }

// newChart draws lines from 0 to their largest value. A chart with fewer than two moments is empty.
func newChart(label string, width, height int, lines []line) chart {
	c := chart{Label: label, Width: width, Height: height}
	var first, last time.Time
	top := 0.0
	for _, l := range lines {
		for _, p := range l.points {
			if first.IsZero() || p.at.Before(first) {
				first = p.at
			}
			if p.at.After(last) {
				last = p.at
			}
			top = max(top, p.value)
		}
	}
	if !last.After(first) {
		return c
	}
	c.Max = rate(top)
	for _, l := range lines {
		var b strings.Builder
		for i, p := range l.points {
			x := float64(width) * float64(p.at.Sub(first)) / float64(last.Sub(first))
			y := float64(height) - 1
			if top > 0 {
				y -= p.value / top * float64(height-2)
			}
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%.1f,%.1f", x, y)
		}
		c.Lines = append(c.Lines, drawn{l.class, b.String()})
	}
	return c
}
