// Package history stores the headline figures of published results over commits and finds where
// they changed.
//
// # Records
//
// A Record contains the headline figures of one run of one scenario, or of one point of a sweep,
// with the properties needed for comparing them: the commit, the host, the durability and a hash of
// the settings. The records of a scenario are the lines of DIR/SCENARIO.jsonl, in the order of the
// starts of the runs, one JSON object of at most LineMax bytes each. A record outlives its result,
// which the next published result replaces.
//
// A record stores the verdict by the limits at the time of publication, because limits change and a
// record contains too few figures to be judged again. Imported records of past commits store the
// run's own verdict.
//
// Only the first and the last point of a sweep have records: the first is the point that others are
// compared with, and the last is the far end of the range. Records of all points would be
// redundant, because their figures mostly change together.
//
// # Rules of records
//
// A rate is computed from the cycles whose completion was acknowledged inside the window. A
// percentile is computed from the merged histograms of the timed rounds. FromResult applies these
// rules:
//
//   - Results without Covered (before 23 November 2026): the CPU clocks and the counters of servers
//     were read up to 95 ms after the start of the window, so CPU time and counts per cycle are too
//     small. FromResult omits only those figures.
//   - Busy polling raises rates and CPU time, and pages did not always report it. The stored
//     scenario reports it, so the hash of the settings of such a result is different and its
//     records form a separate series.
//   - A host whose virtualisation was not recorded has no host class. Its records are not joined
//     with records that have a host class.
//   - A result whose host or load was not fit (invalid), or whose limits are for another
//     configuration (misconfigured), has no records, because its figures are not valid.
//   - A result whose ledger does not balance (incorrect) has records without figures.
//   - A result that must not be published has no records: it was measured from a tree with
//     uncommitted changes, or with fewer rounds than its scenario's file requires.
//   - Results of servers on other hosts than the generator's have no records, because the host
//     class describes the generator's host. Results of queue servers other than Prony's have no
//     records, because no commit of this repository changes those servers.
//
// # Series
//
// Group joins the records that differ only in the commit and the time, in the order of their
// commits. The host class, the CPU model, the durability and the settings are equal within a
// Series, because a step between hosts is not a step of the code. Series.Track finds the change
// points of a figure by stat.FindChangePoints.
package history
