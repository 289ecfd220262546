// Package gate judges what a run measured. It reads results and writes nothing; package report writes its judgements.
//
// # Floors and ceilings
//
// Check compares one result with the checked-in limits of its scenario, which LoadBaselines reads from baselines/. A value beyond
// its limit makes the verdict regressed, and tasks at fault make it incorrect. A result whose own verdict is not pass keeps that verdict.
//
// The ceilings of 0 on lost, duplicated and corrupted tasks, and on the mismatches of a load that reads, are implied: Check judges them
// whatever the baseline says, and also without one.
//
// Check fails closed. A metric that is missing, zero, negative, infinite or NaN breaks its limit.
//
// # Duets
//
// JudgeDuet judges two builds that were measured beside each other in generations of fresh processes. It compares one figure per generation
// and side, estimates the loss of each primary with bounds of Student's t over generations, and says regressed if a lower bound exceeds 1 %, and
// pass if every upper bound is below its margin. Several looks at a growing duet share one false-alarm rate; see DuetPolicy.
//
// # Comparisons
//
// Compare judges a change against its base, metric by metric, by a Policy. Rounds that were measured in blocks are compared in pairs; a
// control, which is the base measured a second time, shows the noise of the same run. A metric is
//
//   - regressed or improved if the ratio differs from 1 by at least the least effect, its whole confidence interval lies further from
//     1 than the control's ratio, and the test is significant after Holm's correction;
//   - same if the ratio and its interval are within the least effect and the rounds could have detected an effect of that size;
//   - inconclusive otherwise: the rounds, or the host, do not tell. Inconclusive is not pass. More rounds, or a quieter host, decide.
//
// Counters, such as keys set for each cycle, hardly depend on the host, so that three rounds are enough for a rule of their own; see
// CounterRoundsMin. The verdict is the worst of the arms' own verdicts, regressed, and inconclusive; pass needs every required
// metric to be decided.
//
// If a change is regressed, Explain, or ExplainDuet, names what takes longer, from stages, locks, fsyncs and profiles of both sides.
// Costs says of one run where its time goes, and Describe what limits its rate too. DescribeBound says the latter of a stored run, as far
// as its figures tell.
//
// # Self-test
//
// RunSelfTest measures the gate: how often JudgeDuet calls builds of the same source different (the false-alarm rate), how often it calls
// a loss of a known size that was planted (the power), and which losses Check misses.
package gate
