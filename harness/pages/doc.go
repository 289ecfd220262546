// Package pages writes the pages that people write, from their sources in reports/pages, into reports/. All figures of such a page come from the
// stored data, at each generation: the same sources and the same data yield the same bytes.
//
// A source is reports/pages/NAME.md: Markdown with actions of text/template. reports/pages/pages.hcl has the names, the titles, the order and the
// groups of all pages. The actions, in which SCENARIO names a folder of reports/data, METRIC a metric, or WORKLOAD.METRIC that of one of several
// workloads, and each "NAME=VALUE" the value of a sweep at the point that is meant:
//
//	{{figure "SCENARIO" "METRIC" "NAME=VALUE"...}}     the figure with its unit and interval, linked to the page of the data
//	{{at "SCENARIO" "METRIC" "NAME=VALUE"...}}         the figure as an operand of the following; it writes nothing by itself
//	{{ratio (at ...) (at ...)}}                        the first as a multiple of the second: 2.08 times (1.98 to 2.12)
//	{{percent (at ...) (at ...)}}                      the first as a share of the second: 48.1 % (47.2 to 50.5)
//	{{change (at ...) (at ...)}}                       what becomes of the first at the second: -51.9 % (-52.8 to -49.5)
//	{{holds (less (at ...) (at ...))}}                 nothing: generation fails unless the first is certainly less than the second
//	{{holds (greater (at ...) (at ...))}}              likewise greater
//	{{holds (within (at ...) (at ...) 10)}}            likewise: their ratio is within 10 % of 1
//	{{holds (unclear (at ...) (at ...))}}              likewise: neither is certainly less than the other
//	{{bound "SCENARIO" "NAME=VALUE"...}}               what the run says that limits its rate
//	{{measured "SCENARIO"...}}                         how it was measured: a list of five lines
//	{{days (at ...) (over (at ...) (at ...))...}}      a table of figures, and ratios of two of one run, beside those of the scenario's earlier published runs
//	{{plot "SCENARIO" "KIND"}}                         a plot of the page of the data: latency, throughput, sweep, ...; "selftest" "power" that of the gate
//	{{multiples "METRIC" "SCENARIO"...}}               small plots, one for each scenario: the metric at each point as a multiple of the first
//	{{noplot "REASON"}}                                why the page has no plot
//	{{code "PATH" "DECLARATION" "TEST"}}               a link to a declaration in the code and to the test that holds what is said of it
//	{{page "NAME"}}                                    a link to another page
//
// SCENARIO may also be a soak or a serial budget. A point of a serial budget is named by the settings that differ between its points.
//
// In place of (at ...), the operands of less, greater, unclear and within may be numbers. Every sentence that compares has a holds beside it, so that
// no page says what its data no longer say.
//
// # Ratios
//
// The rounds of two points of one run are interleaved: a turn has one round of each point. If each round has a
// metric, the ratio of two points is the median of the ratios of the turns, with their interval, by
// result.TurnRatio: a slower host slows both rounds of a turn. Every other ratio is that of the two figures,
// with the bounds low(a)/high(b) and high(a)/low(b). If each interval covers its true value with 95 %, the
// bounds cover the true ratio with at least 90 %. Both bounds of a figure without an interval are the figure.
//
// # Brackets
//
// Bare brackets hold a 95 % confidence interval. The first interval of a page is labelled "95 % CI". Other brackets have a label: "90 % CI" for
// the ratio of two intervals and for two one-sided bounds, and "range" for few rounds and for maxima.
//
// # Comparisons
//
// less and greater hold, where the two have a ratio of turns, if its whole interval is below 1, or above 1. Of all other figures, the intervals
// must not overlap; a figure without an interval stands for itself. unclear holds if neither less nor greater does. within compares the two medians.
//
// # What is checked
//
// Generate fails with file and line of everything that is wrong: an unknown name, a comparison that does not hold, sections that are not
// those of every page in their order, an answer that is not one sentence with a figure, no plot, fewer than 60 or more than 120 lines, and
// two figures of one workload in the set.
package pages
