// Package serial measures the serial budget of a server: the most work for each request that the one goroutine which decides bears, while
// no-op requests keep 95 % of the rate that they have without work.
//
//   - The search (search, fit) finds that work from pairs of slices, one without and one with work. A slow host slows both slices of a pair.
//   - A pipeline (pipeline) is a server on a Unix socket and a generator of no-op requests. The server must be built with the tag
//     serialbudget.
//   - Windows (window, stages) say what requests cost without work and at the budget.
//   - Measure (serial) does all of that at each point of a sweep.
package serial
