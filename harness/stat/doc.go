// Package stat computes medians, ratios and percentiles with confidence intervals, tests whether
// two samples differ, and computes the smallest effect that a number of rounds can detect. It is
// independent of benchmarks and imports no other package of this project.
//
// A Summary is an estimate (Center) with an interval (Low to High) that contains the true value
// with probability Confidence. A Comparison is the outcome of a test. Both list limitations in
// Warnings, as data; an invalid input, such as a value that is NaN, is an error. All functions are
// pure and safe for concurrent use, and none changes its arguments. The bootstrap uses a generator
// with a constant seed, so equal values have equal intervals on every machine.
//
// # Medians
//
// Summarise bounds a median by order statistics. For n sorted values x1 … xn of any distribution,
// the interval xi to xj contains the median of the distribution if between i and j-1 of the values
// lie below the median. The probability of this is
//
//	sum over k = i … j-1 of C(n, k) / 2^n
//
// (David and Nagaraja, Order Statistics, 2003, section 7.1). Summarise uses the shortest such
// interval with at least 95 %. With seven values it is the whole range, which contains the median
// with 98.4 % probability. With fewer than six values, the probability of even the whole range is
// below 95 %. Confidence reports the actual probability.
//
// # Ratios
//
// PairedRatio is for rounds of two sides that were measured next to each other, so that a temporary
// slowdown of the host affects both. It takes the logarithm of each pair's ratio and estimates
// their center by the pseudomedian of Hodges and Lehmann (1963), the median of the means of all
// pairs of values. Its test is Wilcoxon's signed-rank test (1945), SignedRank. UnpairedRatio is the
// ratio of two medians; its test is that of Mann and Whitney (1947). PercentileRatio compares a
// percentile of merged histograms; percentiles are never averaged. MergedPercentiles computes the
// percentiles of one side. The intervals of all four come from the percentile bootstrap (Efron
// 1979) over rounds. Holm corrects the P of several tests for their number.
//
// # One-sided tests
//
// A duet asks whether a loss is larger than a limit, and whether a larger one is excluded. Mean
// provides one-sided bounds and tests by Student's t; TrimmedMean provides robust ones (Yuen 1974).
// HolmWeighted corrects the P of several tests for their number and assigns each a share of the
// false-alarm rate by its weight. AtLeast is the exact binomial test. FisherGreater is Fisher's
// exact test of two shares.
//
// # Power
//
// Detectable is the smallest effect that a number of pairs detects with probability Power. A
// comparison that finds nothing has excluded only effects larger than Detectable.
//
// # Other statistics
//
// FindTrend fits the Theil-Sen slope and applies the Mann-Kendall test; it judges whether a load is
// in steady state. FindDrift bounds the rise or fall of a figure over a run by a moving-block
// bootstrap; it judges whether a soak's memory use is stable. FindDecay does the same for the loss
// of a rate. FindChangePoints finds where the figures of successive runs change; it judges a
// history of commits. MeanDifference compares sums of sampled events, such as samples of a CPU
// profile. ModeratedDifferences compares many such features over a few pairs, with simultaneous
// confidence intervals: with the stated probability, all of them contain the true value.
// WilsonInterval is the interval of a probability.
package stat
