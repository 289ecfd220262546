package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// print writes a command's result: document as JSON, or the table that rows fills in.
func (a *app) print(document any, rows func(t *table)) error {
	if a.output == formatJSON {
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		return a.write(string(text) + "\n")
	}
	var b strings.Builder
	t := &table{w: tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)}
	rows(t)
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return a.write(trimLines(b.String()))
}

func (a *app) write(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// table is a result for people, with aligned columns.
type table struct{ w *tabwriter.Writer }

// row adds a line. It quotes unsafe cells, because text from clients must not be able to control
// the terminal.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = harmless(fmt.Sprint(c))
	}
	_, _ = fmt.Fprintln(t.w, strings.Join(texts, "\t")) // writes to memory
}

// harmless quotes a text if it contains unprintable characters, or starts or ends with a space.
func harmless(text string) string {
	if utf8.ValidString(text) && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return strconv.Quote(text)
}

// columnWidth is the maximum width of payloads, headers and errors in lists, in characters.
const columnWidth = 60

func clip(text string) string {
	if utf8.RuneCountInString(text) <= columnWidth {
		return text
	}
	return string([]rune(text)[:columnWidth-1]) + "…"
}

// or returns text, or the alternative empty if text is "".
func or(text, empty string) string {
	if text == "" {
		return empty
	}
	return text
}

// when formats a time in Unix milliseconds. It returns "-" for 0, which means no time.
func when(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func count[T int | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
