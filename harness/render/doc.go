// Package render formats numbers and tables for people. It uses no type of the harness, so that
// every package of the harness can import it.
//
// Number is for measured values: three significant digits, as precise as a benchmark on a shared
// host can repeat. Digits is for settings and limits: it never rounds the whole part, so that a
// limit of 5,912 is not shown as 5,910. Count is exact. Amount and Percent add a unit.
//
// A Table is written either as Text, for a terminal or a log, or as Markdown, for a page;
// ExampleTable shows both.
//
// No function of this package fails: a value that is not a finite number is formatted as "not a
// number".
package render
