// Words checks the text of added lines for phrases that readers must take apart. It reads the
// comments and long strings of Go, proto and HCL files, shell scripts and the Makefile, and the
// prose of Markdown files.
//
//	words [BASE]
//
// Added are the lines that the working tree has and the commit BASE does not. Without BASE it is
// the merge base with the branch that the current branch tracks, or else the parent of HEAD. Words
// prints each phrase with its place and a better form, and exits with 1 if there are more than
// allowed.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Allowed are allowedPer10000 hits in 10,000 added words, and allowedAlways of any number of words.
const (
	allowedPer10000 = 20
	allowedAlways   = 2
)

func main() {
	base := ""
	if len(os.Args) > 1 {
		base = os.Args[1]
	}
	if err := check(base); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func check(base string) error {
	if base == "" {
		base = defaultBase()
	}
	// An external diff program or colours would change the format.
	diff, err := git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", base, "--")
	if err != nil {
		return err
	}
	hits, words := 0, 0
	for _, line := range added(diff) {
		for _, text := range prose(line.file, line.text) {
			words += len(strings.Fields(text))
			for _, r := range rules {
				for _, phrase := range r.phrase.FindAllString(text, -1) {
					hits++
					fmt.Printf("%s:%d: %q: %s\n", line.file, line.number, strings.TrimSpace(phrase), r.instead)
				}
			}
		}
	}
	if allowed := max(allowedAlways, words*allowedPer10000/10_000); hits > allowed {
		return fmt.Errorf("%d phrases in %d words added since %s, and %d are allowed: rewrite the sentences", hits, words, base, allowed)
	}
	fmt.Printf("words: %d phrases in %d words added since %s\n", hits, words, base)
	return nil
}

// defaultBase returns the base of the working tree's changes. A shallow clone may have neither a
// tracked branch nor a parent: then only uncommitted lines count.
func defaultBase() string {
	for _, args := range [][]string{{"merge-base", "HEAD", "@{upstream}"}, {"rev-parse", "--verify", "--quiet", "HEAD~1"}} {
		base, err := git(args...)
		if base = strings.TrimSpace(base); err == nil && base != "" {
			head, _ := git("rev-parse", "HEAD")
			if base != strings.TrimSpace(head) {
				return base
			}
		}
	}
	return "HEAD"
}

func git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	var problem strings.Builder
	c.Stderr = &problem
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return string(output), nil
}
