// Package report renders measurements and judgements for people: pages with plots, and verdicts as
// text for a terminal.
//
// A page is made only from a stored run and the checked-in limits, or from a stored comparison. It
// contains nothing from a clock, the current host or a random number, so the same data and limits
// yield the same bytes at any time and on any machine. CI renders every page under reports/ again
// and compares.
//
// Judge computes the verdict of a stored run, for its page, the index and prony check. Open does so
// for the folder of any result.
//
// Render writes the page of a run folder. Publish copies the page's data to reports/data/ and
// renders the page from there into reports/scenarios/. Package pages cites these pages with the
// functions of cite.go. Charts returns the data of plots as numbers.
//
// Each page is a doc.Document, which a command can also show in a terminal. The packages below this
// one do not know it: doc is the model of a page, plots the style of its plots, and words describes
// hosts and times. Package terminal writes judgements. The packages anatomy, faults, stalls, rates
// and account write parts of a run's page, with the functions of runs, and historypage,
// experimentspage and selftestpage write pages that need no run.
//
// The page of a run is a list of sections (see runPage). Each section is one function in a file
// that is named after its content: latency, stages, locks, faults, provenance. A section writes
// nothing if the run does not have its data. Each figure is shown with its durability. A page
// begins with the verdict and the broken limits, and ends with what it does not measure (limits).
// If the ledger does not balance, the page has the account of the tasks and no figures.
//
// Figures that were not measured are shown as a dash, never as zero. All functions are safe for
// concurrent use on different folders.
package report
