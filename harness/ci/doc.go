// Package ci writes judgements of runs and comparisons in the forms that CI services show: a step summary, annotations, a JUnit report and a
// comment on a pull request. It does not talk to a service: scripts in the repository's ci/ do. Its functions are pure, but for Write.
package ci
