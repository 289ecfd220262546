// Command example is what the tests build.
package main

import "fmt"

func main() { fmt.Println("built") }
