// Package render writes numbers and tables for people. It knows no type of the harness, so that every package above may use it.
//
// Number is for what was measured: three significant digits, which is what a benchmark on a shared host can repeat. Digits is for what was set or
// limited: it never rounds the whole part, so that a limit of 5,912 is not shown as 5,910. Count is exact. Amount and Percent add a unit.
//
// A Table is written either as Text, for a terminal or a log, or as Markdown, for a page; ExampleTable shows both.
//
// Nothing in this package fails: a value that is not a finite number is written as "not a number".
package render
