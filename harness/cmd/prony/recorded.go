package main

import (
	"slices"
	"strings"
)

// unrecorded are the flags for the destination or the display of a result.
var unrecorded = []string{"--out", "--folder", "--listen"}

// recorded returns the command line to store in a result: the arguments without the flags in
// unrecorded. A folder or an address of one machine does not affect the measurement and does not
// help to repeat it, and results are published.
func recorded(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		flag, _, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return append(kept, args[i:]...)
		case !slices.Contains(unrecorded, flag):
			kept = append(kept, arg)
		case !hasValue:
			i++ // skip its value
		}
	}
	return kept
}
