package main

import "strings"

// recorded returns the command that a result says it was measured by: the arguments without --out. A folder of one machine neither
// changes what is measured nor helps to measure it again, and results are published.
func recorded(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return append(kept, args[i:]...)
		case arg == "--out":
			i++ // its value
		case !strings.HasPrefix(arg, "--out="):
			kept = append(kept, arg)
		}
	}
	return kept
}
