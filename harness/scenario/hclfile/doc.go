// Package hclfile reads small HCL files and reports everything that is wrong with them at once: syntax,
// misspelt, missing and repeated names, wrong units and values out of range, each with its file, line, the
// line itself and a remedy. The languages of scenarios and baselines are written on top of it.
//
// A Reader reads files into blocks. A Block is asked for its attributes and inner blocks by name; each answer
// is a checked Go value, or the zero value after a problem was noted. When everything was asked for,
// Reader.Err returns all problems of all files. The package reads files and does nothing else.
//
// A file may define names: variables, whose values can be given from outside, and locals, which are made of others.
// It may hold blocks that stand in another file, through Include.
//
// Two things differ from plain HCL. A block may hold several attributes on one line, as in
//
//	phases { warmup = "2s"  window = "10s" }
//
// and a value is a number, a string, a list or a function call, or made of the names of such with the four operations:
// evaluation takes time and memory in proportion to what is written, whatever that is.
package hclfile
