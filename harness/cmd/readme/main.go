// Command readme updates README.md and harness/README.md. It runs the commands of their console
// blocks in order, in the repository's root, and replaces the output in the blocks. This takes some
// minutes, and needs an otherwise idle machine:
//
//	make build && go run ./harness/cmd/readme
//
// Between <!-- page "SECTION" N --> and <!-- end --> it copies a part of the newest run's page: the
// first N rows of the section's table, and the line with the throughput if there is one. Between
// <!-- file "PATH" --> and <!-- end --> it copies a file. Between <!-- run "reports/data/NAME" -->
// and <!-- end --> it writes the headline of that published run: its rate and the conditions of the
// measurement. With -files it only writes files and headlines, as `make readme` does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

const newest = "runs/latest/report.md"

var documents = []string{"README.md", "harness/README.md"}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	files := flag.Bool("files", false, "only copy files and headlines of published runs, without measuring")
	flag.Parse()
	if err := refresh(ctx, *files); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func refresh(ctx context.Context, filesOnly bool) error {
	of := sources{run: func(line string) (string, error) { return shell(ctx, line) }, read: readFile, headline: headline}
	if filesOnly {
		of.run = nil
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			return fmt.Errorf("run it in the repository's root: %w", err)
		}
		shown, err := of.renew(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", document, err)
		}
		if err := result.WriteFile(document, []byte(shown)); err != nil {
			return err
		}
	}
	return nil
}

// sources provides the contents of a document's blocks.
type sources struct {
	// run runs a command and returns its output. If it is nil, console blocks and parts of pages do
	// not change.
	run      func(line string) (string, error)
	read     func(path string) (string, error)
	headline func(dir string) (string, error) // headline of a published run
}

func readFile(path string) (string, error) {
	file, err := os.ReadFile(path)
	return string(file), err
}

func headline(dir string) (string, error) {
	limits, err := gate.LoadBaselines("baselines")
	if err != nil {
		return "", fmt.Errorf("run it in the repository's root: %w", err)
	}
	return report.Headline(limits, dir)
}

// shell runs a command line with bin/ in PATH, and returns its output. Its exit status is a verdict
// and not an error.
func shell(ctx context.Context, line string) (string, error) {
	fmt.Fprintln(os.Stderr, "$", line)
	bin, err := filepath.Abs("bin")
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return "", err
	}
	return string(out), nil
}

var (
	console = regexp.MustCompile("(?s)(```console\n\\$ )([^\n]+)\n(.*?)(```)")
	excerpt = regexp.MustCompile(`(?s)(<!-- (page|file|run) "([^"]+)"(?: (\d+))? -->\n)(.*?)(<!-- end -->)`)
)

// renew replaces the contents of console blocks by the output of their commands. It then updates
// the blocks that copy the newest page, files and published runs.
func (s sources) renew(text string) (string, error) {
	var failed error
	text = console.ReplaceAllStringFunc(text, func(block string) string {
		parts := console.FindStringSubmatch(block)
		if failed != nil || s.run == nil {
			return block
		}
		out, err := s.run(parts[2])
		if err != nil {
			failed = fmt.Errorf("%s: %w", parts[2], err)
			return block
		}
		return parts[1] + parts[2] + "\n" + strings.TrimRight(out, "\n") + "\n" + parts[4]
	})
	if failed != nil {
		return "", failed
	}
	text = excerpt.ReplaceAllStringFunc(text, func(block string) string {
		parts := excerpt.FindStringSubmatch(block)
		if s.run == nil && parts[2] == "page" {
			return block
		}
		shown, err := s.copied(parts[2], parts[3], parts[4])
		if err != nil {
			failed = errors.Join(failed, err)
			return block
		}
		return parts[1] + "\n" + shown + "\n" + parts[6]
	})
	return text, failed
}

func (s sources) copied(kind, name, rows string) (string, error) {
	switch kind {
	case "file":
		return s.read(name)
	case "run":
		return s.headline(name)
	}
	n, err := strconv.Atoi(rows)
	if err != nil {
		return "", fmt.Errorf("the part of the page %q: how many rows? %w", name, err)
	}
	page, err := s.read(newest)
	if err != nil {
		return "", err
	}
	return section(page, name, n)
}

// section returns the first rows of the table in a section of a page, and the line with the
// throughput.
func section(page, name string, rows int) (string, error) {
	_, rest, found := strings.Cut(page, "\n## "+name)
	if !found {
		return "", fmt.Errorf("the page has no section %q", name)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var table, lines []string
	for line := range strings.SplitSeq(rest, "\n") {
		switch {
		case strings.HasPrefix(line, "|") && len(table) < rows+2:
			table = append(table, line)
		case strings.HasPrefix(line, "throughput ="):
			lines = append(lines, "\n> "+line)
		}
	}
	if len(table) < 3 {
		return "", fmt.Errorf("section %q of the page has no table", name)
	}
	return strings.Join(append(table, lines...), "\n") + "\n", nil
}
