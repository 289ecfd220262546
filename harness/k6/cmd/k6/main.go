// Command k6 is k6 with Prony's extension, and otherwise k6: `k6 run script.js`.
package main

import (
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/k6"
	"github.com/pronybench/prony/harness/k6/k6api"
)

// k6 as its makers build it tells them of each run, and fetches another binary for a script whose
// imports it does not know. This one talks to nobody whom its user does not name, unless the user
// says so.
var quiet = map[string]string{
	"K6_NO_USAGE_REPORT":           "true",
	"K6_AUTO_EXTENSION_RESOLUTION": "false",
}

func main() {
	for name, value := range quiet {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "k6:", err)
			os.Exit(1)
		}
	}
	k6.Register()
	k6api.Execute()
}
