// Command k6 is k6 with Prony's extension: `k6 run script.js`.
package main

import (
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/k6"
	"github.com/pronybench/prony/harness/k6/k6api"
)

// quiet has defaults of environment variables. By default, k6 reports each run to its makers, and
// downloads another binary for a script with unknown imports. This one makes no such connections,
// unless the user sets the variables.
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
