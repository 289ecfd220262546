// Package history keeps the headline figures of published results over commits, and says where they changed.
//
// # Records
//
// A Record has the headline figures of one run of one scenario, or of one point of a sweep, with what is needed to compare them: the commit, the
// host, the durability and a hash of the settings. The records of a scenario are the lines of DIR/SCENARIO.jsonl, in the order in which the runs
// began: one JSON object of at most LineMax bytes each. A record outlives the result that it is of, which the next published result replaces.
//
// A record keeps the verdict by the limits of the day of publication: limits change, and a record
// has too few figures to judge it again. Imported records of past commits have the run's own verdict.
//
// Of a sweep the first and the last point have records: the point that others are compared with, and the far end of the range. All points would be
// many lines that move together.
//
// # Results of older versions
//
// FromResult makes records of results of all versions of package result. A rate is cycles whose completion was acknowledged inside the window, and a
// percentile is that of the merged histograms of the timed rounds, in all of them; durabilities have had their names from the beginning. What does
// not mean the same is left out, by these rules:
//
//   - Results without Covered (of before 23 November 2026): the CPU clocks and the counters of servers were read up to 95 ms after the begin of the window, so that CPU time
//     and counts per cycle are too small. Those figures are left out. The others are kept.
//   - Busy polling raises rates and CPU time, and pages did not always say so. The stored scenario does: such a result has another hash of its settings, and
//     its records are a series of their own.
//   - A host whose virtualisation was not recorded has no host class. Its records are not joined with those of a host class.
//   - A result of a run whose host or load was not fit (invalid), or whose limits are for another configuration (misconfigured), has no records: its
//     figures are no measure.
//   - A result of a run whose ledger does not balance (incorrect) has records without figures.
//   - A result that may not be published has no records: it was measured from a tree with changes that no commit has, or with fewer rounds than its
//     scenario's file wants.
//   - Results of servers on other hosts than the generator's have no records, since the host class is that of the generator. Results of queue servers other
//     than Prony's have none, since no commit of this repository changes those servers.
//
// # Series
//
// Group joins the records that differ in the commit and the time alone, in the order of their commits. The host class, the model of the CPU, the
// durability and the settings are equal within a Series: a step between hosts is no step of the code. Series.Track finds the change points of a
// figure by stat.FindChangePoints.
package history
