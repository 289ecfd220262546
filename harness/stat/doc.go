// Package stat turns measurements into statements: medians, ratios and percentiles with confidence intervals, tests of whether two
// samples differ, and the smallest effect that a number of rounds can detect. It knows no benchmark and imports nothing of ours.
//
// A Summary is an estimate (Center) with an interval (Low to High) that holds the true value with probability Confidence. A
// Comparison is the outcome of a test. What weakens either is in its Warnings, as data; what makes it impossible is an error, such as
// a value that is NaN. All functions are pure and safe for concurrent use, and none changes its arguments. The bootstrap draws from a
// generator with a constant seed, so that the same values have the same interval on every machine.
//
// # Medians
//
// Summarise bounds a median by order statistics. Of n sorted values x1 … xn, the interval xi to xj holds the median of their distribution,
// whatever that is, with the probability that between i and j-1 of n values lie below the median:
//
//	sum over k = i … j-1 of C(n, k) / 2^n
//
// (David and Nagaraja, Order Statistics, 2003, section 7.1). Summarise takes the shortest run of values with at least 95 %. With seven
// values that is the whole range, with 98.4 %; with fewer than six not even the range has 95 %, and Confidence says what it has.
//
// # Ratios
//
// PairedRatio is for rounds of two sides that were measured beside each other: what slows the host for a while is in both. It
// takes the logarithm of each pair's ratio and estimates their center by the pseudomedian of Hodges and Lehmann (1963), the median of
// the means of all pairs of values. Its test is Wilcoxon's signed-rank test (1945), SignedRank. UnpairedRatio is the ratio of two
// medians; its test is that of Mann and Whitney (1947). PercentileRatio compares a percentile of merged histograms; percentiles are
// never averaged, and MergedPercentiles has those of one side. The intervals of all four are those of the percentile bootstrap (Efron 1979) over rounds. Holm corrects
// the P of several tests for their number.
//
// # One-sided tests
//
// A duet asks whether a loss is larger than a limit, and whether a larger one is excluded. Mean has one-sided bounds and tests of Student's t;
// TrimmedMean makes them robust (Yuen 1974). HolmWeighted corrects the P of several tests for their number and gives each a share of the
// false-alarm rate by its weight. AtLeast is the exact binomial test, and FisherGreater the exact test of two shares.
//
// # Power
//
// Detectable is the smallest effect that so many pairs find with probability Power. A comparison that found nothing has excluded
// only effects above it.
//
// # Other statistics
//
// FindTrend fits the slope of Theil and Sen and tests it as Mann and Kendall do: it judges whether a load is in steady state. FindDrift bounds the
// rise or fall of a figure over a run by a moving-block bootstrap: it judges whether a soak keeps its memory. FindDecay is the same for the loss of a
// rate. FindChangePoints finds where the figures of one run after another change: it judges a history of commits. MeanDifference compares sums of
// sampled events, such as samples of a CPU profile, and ModeratedDifferences compares many such features of a few pairs at once, with intervals that
// hold together. WilsonInterval is the interval of a probability.
package stat
