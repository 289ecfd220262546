// Package source finds declarations in files of source code, so that documents name a declaration
// and not a line, which moves.
package source

import (
	"bufio"
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns the number, from 1, of the first line of text that begins with a declaration, and 0
// if there is no such line. The line may be indented. "func run" is not the begin of "func runAll".
func Line(text []byte, declaration string) int {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		if rest, begins := strings.CutPrefix(strings.TrimLeft(lines.Text(), "\t "), declaration); begins {
			next, _ := utf8.DecodeRuneInString(rest)
			if rest == "" || !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '_' {
				return n
			}
		}
	}
	return 0
}
