// Package pages generates the hand-written pages from their sources in reports/pages into reports/.
// Generate takes all figures of such a page from the stored data: the same sources and the same
// data yield the same bytes.
//
// A source is reports/pages/NAME.md: Markdown with actions of text/template.
// reports/pages/pages.hcl lists all pages with their names and titles, in groups and in order. In
// the actions, SCENARIO is a folder of reports/data. METRIC is a metric, or WORKLOAD.METRIC for one
// of several workloads. Each "NAME=VALUE" is a swept value of the selected point:
//
//	{{figure "SCENARIO" "METRIC" "NAME=VALUE"...}}     the figure with its unit and interval, linked to the page of the data
//	{{at "SCENARIO" "METRIC" "NAME=VALUE"...}}         the figure as an operand of the following actions, without output
//	{{ratio (at ...) (at ...)}}                        the first as a multiple of the second: 2.08 times (1.98 to 2.12)
//	{{percent (at ...) (at ...)}}                      the first as a share of the second: 48.1 % (47.2 to 50.5)
//	{{change (at ...) (at ...)}}                       the change from the first to the second: -51.9 % (-52.8 to -49.5)
//	{{holds (less (at ...) (at ...))}}                 no output; generation fails unless the first is certainly less than the second
//	{{holds (greater (at ...) (at ...))}}              likewise, greater
//	{{holds (within (at ...) (at ...) 10)}}            likewise: their ratio is within 10 % of 1
//	{{holds (unclear (at ...) (at ...))}}              likewise: neither is certainly less than the other
//	{{bound "SCENARIO" "NAME=VALUE"...}}               the limiting resource of the run
//	{{measured "SCENARIO"...}}                         how it was measured: a list of five lines
//	{{days (at ...) (over (at ...) (at ...))...}}      a table of figures, and ratios of two figures of one run, with those of the scenario's earlier published runs
//	{{plot "SCENARIO" "KIND"}}                         a plot of the page of the data: latency, throughput, sweep, ...; "selftest" "power" for the plot of the gate
//	{{multiples "METRIC" "SCENARIO"...}}               small plots, one for each scenario: the metric at each point relative to the first
//	{{noplot "REASON"}}                                the reason why the page has no plot
//	{{code "PATH" "DECLARATION" "TEST"}}               a link to a declaration in the code and to the test of the claim about it
//	{{page "NAME"}}                                    a link to another page
//
// SCENARIO may also be a soak or a serial budget. The settings that differ between the points of a
// serial budget select one of them.
//
// The operands of less, greater, unclear and within may also be numbers instead of (at ...). Every
// sentence that compares figures needs a holds action, so that no page contains a statement that
// its data no longer support.
//
// # Ratios
//
// The rounds of two points of one run are interleaved: a turn has one round of each point. If each
// round has the metric, result.TurnRatio computes the ratio of two points as the median of the
// ratios of the turns, with an interval. It is used because a temporarily slower host slows both
// rounds of a turn. Every other ratio is the quotient of the two figures, with the bounds
// low(a)/high(b) and high(a)/low(b). If each figure's interval contains its true value with 95 %
// probability, the bounds contain the true ratio with at least 90 %. For a figure without an
// interval, low and high are the figure itself.
//
// # Brackets
//
// Brackets without a label contain a 95 % confidence interval. The first interval of a page is
// labelled "95 % CI". Other brackets have a label: "90 % CI" for the ratio of two intervals and for
// two one-sided bounds, and "range" for few rounds and for maxima.
//
// # Comparisons
//
// If a ratio of turns exists, less is true if the ratio's whole interval is below 1, and greater if
// it is above 1. For other figures, less and greater require that the two intervals do not overlap;
// a figure without an interval counts as an interval of one point. unclear is true if neither less
// nor greater is. within compares the two medians.
//
// # Checks
//
// Generate fails with the file and the line of every error: an unknown name, a false comparison,
// sections other than the required ones or in another order, an answer that is not one sentence
// with a figure, a missing plot, fewer than 60 or more than 120 lines, and figures from two runs or
// points of the same workload in the set of pages.
package pages
