// Package scenario is the language that scenarios are written in. A scenario says what is put under
// test, what load the topology gets, for how long, what is done to it meanwhile, and what must hold
// in the end:
//
//	scenario "first" {
//	  topology "single" { durability = "none" }
//	  workload "main" { driver = "stream"  producers = 8  workers = 16 }
//	  phases { window = "5s" }
//	  invariant "conserved" {}
//	}
//
// [Load] reads files of HCL and returns checked Go values with every default filled in, or a
// [Diagnostics] that holds everything wrong with all files. Nothing is started, and nothing but
// files is read. A [Scenario] has JSON tags: the manifest of a run holds it, and results of earlier
// builds are read into it. [Scenario.Plan] returns the points to measure: one for each combination
// of the swept values.
//
// Each kind of block has a file of its own, in which a struct, the names of its attributes, their
// ranges and defaults, and the contradictions with other blocks stand together: topology.go,
// workload.go, arrivals.go, fault.go and so on. scenarios/README.md is the reference for people who
// write scenarios.
//
// Values of this package are plain data. They may be read by several goroutines, and nothing in the
// package keeps them.
package scenario
