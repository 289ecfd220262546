// Package report writes for people what others measured and judged: pages with plots, and the text of verdicts for a terminal.
//
// A page is made from a stored run and the checked-in limits, or a stored comparison, and from nothing
// else. It has no clock, no host and no random number in it: the same data and limits yield the same
// bytes at any time and on any machine. CI renders every page under reports/ again and compares.
//
// Judge computes the verdict of a stored run, for its page, the index and prony check. Open does so for
// the folder of any result.
//
// Render writes the page of a run folder. Publish copies what the page needs to reports/data/ and renders it from there into
// reports/scenarios/. Package pages cites these pages, by the functions of cite.go. Charts gives what plots show as numbers. CheckText and
// ComparisonText write the verdicts of package gate, and SelfTestPage and SelfTestPlot the page of its self-test.
//
// The page of a run is a list of sections (see markdown), one function each, in files named after what they show: latency, stages,
// locks, faults, provenance. A section writes nothing if the run has no such data. Each figure stands with its durability, and each page
// ends with what it does not measure (limits). A page begins with the verdict and the broken limits. If the ledger does not balance, the page has the account of the tasks and no figure.
//
// Tables and numbers are those of package render; figures that were not measured are shown as a dash, never as zero. All functions
// are safe for concurrent use on different folders.
package report
