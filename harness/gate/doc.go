// Package gate judges the measurements of a run. It reads results and writes nothing; package
// report writes its judgements.
//
// # Floors and ceilings
//
// Check compares one result with the checked-in limits of its scenario, which LoadBaselines reads
// from baselines/. A value beyond its limit makes the verdict regressed, and tasks at fault make it
// incorrect. If the verdict stored in the result is not pass, it remains.
//
// Ceilings of 0 on lost, duplicated and corrupted tasks, and on the mismatches of a load that
// reads, are implied: Check judges them regardless of the baseline's contents, and also without a
// baseline.
//
// Check fails closed. A metric that is missing, zero, negative, infinite or NaN breaks its limit.
//
// # Duets
//
// JudgeDuet judges two builds that were measured together in generations of fresh processes. It
// compares one figure per generation and side, and estimates the loss of each primary with bounds
// of Student's t over generations. The verdict is regressed if a lower bound exceeds 1 %, and pass
// if every upper bound is below its margin. Several looks at a growing duet share one false-alarm
// rate; see DuetPolicy.
//
// # Comparisons
//
// Compare judges a change against its base by a Policy, metric by metric. Rounds that were measured
// in blocks are compared in pairs. A control, which is a second measurement of the base, shows the
// noise of the same run. A metric is
//
//   - regressed or improved under three conditions: the ratio differs from 1 by at least the least
//     effect, its whole confidence interval is further from 1 than the control's ratio, and the
//     test is significant after Holm's correction;
//   - same if the ratio and its interval are within the least effect and the rounds could have
//     detected an effect of that size;
//   - inconclusive otherwise: the rounds or the host do not allow a decision. Inconclusive is not a
//     pass; more rounds or a quieter host are needed.
//
// Counters, such as keys set for each cycle, hardly depend on the host. They are judged by a
// separate rule, for which three rounds are enough; see CounterRoundsMin. The verdict is the worst
// of these: the arms' own verdicts; regressed, if a metric regressed; inconclusive, if a required
// metric is inconclusive. Pass requires a decision on every required metric.
//
// If a change is regressed, Explain and ExplainDuet name the slower parts, from stages, locks,
// fsyncs and profiles of both sides. Costs reports where the time of a single run is spent.
// Describe also reports what limits the run's rate. DescribeBound derives that limit from a stored
// run, as far as the run's figures allow.
//
// # Self-test
//
// RunSelfTest measures the gate: how often JudgeDuet reports a difference between builds of the
// same source (the false-alarm rate), how often it reports a planted loss of known size (the
// power), and which losses Check misses.
package gate
