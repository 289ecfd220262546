// Command k6 is k6 with Prony's extension.
package main

import "github.com/pronybench/prony/harness/k6/k6api"

func main() { k6api.Execute() }
