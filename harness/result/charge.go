package result

// Charge is the amount that a profile charges to one function of the server's own code: the
// innermost such function in each stack. A stack without such a function is charged to the garbage
// collection, the scheduling, or its package.
type Charge struct {
	Function string `json:"function"`
	// Callers are a few functions of the server's own code that called Function in its heaviest
	// stack, innermost first.
	Callers []string `json:"callers,omitempty"`
	Value   float64  `json:"value"`   // in the profile's unit
	Samples uint64   `json:"samples"` // number of the profile's samples
}

// Charges to the runtime instead of a function.
const (
	ChargeGC         = "runtime: garbage collection"
	ChargeScheduling = "runtime: scheduling"
)
