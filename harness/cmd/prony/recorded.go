package main

import (
	"slices"
	"strings"
)

// unrecorded are the flags that say where a result goes or is shown.
var unrecorded = []string{"--out", "--folder", "--listen"}

// recorded returns the command that a result says it was measured by: the arguments without those of unrecorded. A folder or an address of one
// machine neither changes what is measured nor helps to measure it again, and results are published.
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
			i++ // its value
		}
	}
	return kept
}
