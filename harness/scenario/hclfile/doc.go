// Package hclfile reads small HCL files and reports all their problems in one pass: syntax errors,
// misspelt, missing and repeated names, wrong units and values out of range. Each problem has its
// file, line number, line and a remedy. The languages of scenarios and baselines use this package.
//
// A [Reader] reads files into blocks. The methods of a [Block] return its attributes and inner
// blocks by name, as validated Go values. They return the zero value after they noted a problem.
// After the last read, [Reader.Err] returns all problems of all files as a [Diagnostics]:
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
// HCL provides the parser, the evaluation and the format of problems. The package adds four
// features: units and ranges, names that files define (variables, whose values a caller can
// replace, and locals, which are expressions of other names), blocks in included files
// ([Block.Include]), and several attributes on one line of a block:
//
//	phases { warmup = "2s"  window = "10s" }
//
// The time and memory of a read are bounded for any input: the sizes of files, lines, exponents and
// values of names and the nesting of brackets have limits, and loops are refused.
//
// A Reader and its blocks are not safe for concurrent use. No function panics because of the
// content of a file.
package hclfile
