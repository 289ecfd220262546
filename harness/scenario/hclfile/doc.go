// Package hclfile reads small HCL files and reports everything that is wrong with them at once:
// syntax, misspelt, missing and repeated names, wrong units and values out of range, each with its
// file, line, the line itself and a remedy. The languages of scenarios and baselines are written on
// top of it.
//
// A [Reader] reads files into blocks. A [Block] is asked for its attributes and inner blocks by
// name; each answer is a checked Go value, or the zero value after a problem was noted. When
// everything was asked for, [Reader.Err] returns all problems of all files as a [Diagnostics]:
//
//	var r hclfile.Reader
//	root := r.File("queues.hcl", hclfile.Names{Blocks: []string{"queue"}})
//	if root != nil {
//		for _, b := range root.Blocks("queue", hclfile.Inner{Names: hclfile.Names{Attributes: []string{"shards"}}, Label: "name"}) {
//			shards := b.Int("shards", hclfile.IntSpec{Min: 1, Max: 32, Default: 1})
//			...
//		}
//	}
//	return r.Err()
//
// Parsing, evaluation and the text of problems are HCL's own. The package adds four things: units
// and ranges, names that are defined in files (variables, whose values can be given from outside,
// and locals, which are made of others), blocks that stand in another file ([Block.Include]), and
// several attributes on one line of a block:
//
//	phases { warmup = "2s"  window = "10s" }
//
// The work and the memory of a read are bounded whatever a file holds: files, lines, brackets,
// exponents and the values of names have largest sizes, and loops are refused.
//
// A Reader and its blocks belong to one goroutine. No function panics on what a file holds.
package hclfile
