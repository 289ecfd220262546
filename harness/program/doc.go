// Package program is about the programs that the harness starts: where they are found, how they live and end, and what
// their logs say last.
package program
