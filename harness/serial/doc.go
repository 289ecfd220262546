// Package serial measures the serial budget of a server. No-op requests make the server's deciding
// goroutine do additional work. The budget is the largest amount of work per request that leaves
// the rate of requests at 95 % of the rate without work.
//
//   - The search (search, fit) finds that work from pairs of slices, one without and one with work.
//     A slow host slows both slices of a pair.
//   - A pipeline (pipeline) is a server on a Unix socket and a generator of no-op requests. The
//     server must be built with the tag serialbudget.
//   - Windows (window, stages) measure the cost of requests without work and at the budget.
//   - Measure (serial) does all of this at each point of a sweep.
package serial
