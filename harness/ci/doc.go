// Package ci writes judgements of runs and comparisons in formats of CI services: a step summary,
// annotations, a JUnit report and a comment on a pull request. It does not communicate with a
// service; scripts in the repository's ci/ do. Its functions are pure, except Write.
package ci
