package result

// Charge is what a profile charges to one function of the server's own code: the innermost one in each stack. What is in no
// such stack is charged to the garbage collection, the scheduling, or the package that it is in.
type Charge struct {
	Function string `json:"function"`
	// Callers are the own functions that called it in the heaviest of its stacks, innermost first, a few.
	Callers []string `json:"callers,omitempty"`
	Value   float64  `json:"value"`   // in the profile's unit
	Samples uint64   `json:"samples"` // how often the profile saw it
}

// What is charged to no function.
const (
	ChargeGC         = "runtime: garbage collection"
	ChargeScheduling = "runtime: scheduling"
)
