// Package scenario implements the language of scenarios. A scenario defines the servers under test,
// the load on them, the length of each phase, the faults during the load, and the invariants that
// must hold at the end:
//
//	scenario "first" {
//	  topology "single" { durability = "none" }
//	  workload "main" { driver = "stream"  producers = 8  workers = 16 }
//	  phases { window = "5s" }
//	  invariant "conserved" {}
//	}
//
// [Load] reads HCL files and returns validated Go values with every default filled in, or a
// [Diagnostics] with all problems of all files. It has no effect other than reading files. A
// [Scenario] has JSON tags, because the manifest of a run contains one and results of earlier
// builds are decoded into it. [Scenario.Plan] returns the points to measure, one for each
// combination of swept values.
//
// Each kind of block has a file: topology.go, workload.go, arrivals.go, fault.go and so on. It
// contains the struct and the checks against other blocks. A table describes the attributes:
// workloadTable, topologyTable, faultTable and so on. The parser, sweeps, pages, `prony explain`,
// the packages load and k6, and the tables in scenarios/README.md, the reference for authors of
// scenarios, use it. A new attribute needs an entry in the table and a field in the struct.
//
// Values of this package are plain data. Several goroutines may read them, and the package keeps no
// reference to them.
package scenario
