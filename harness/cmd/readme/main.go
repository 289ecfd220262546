// Command readme measures again what harness/README.md shows: it carries out the commands of its console blocks in order,
// in the repository's root, and writes what they print. It takes some minutes, and a machine with nothing else to do:
//
//	make build && go run ./harness/cmd/readme
//
// A part of the newest run's page is copied between <!-- page "SECTION" N --> and <!-- end -->: the first N rows of the
// section's table, and its line that states the throughput where there is one. A file is copied between <!-- file "PATH" -->
// and <!-- end -->; with -files that is all that is done, as `make generate` does.
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

	"github.com/pronybench/prony/harness/result"
)

const (
	document = "harness/README.md"
	newest   = "runs/latest/report.md"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	files := flag.Bool("files", false, "copy the files only, and measure nothing")
	flag.Parse()
	if err := refresh(ctx, *files); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func refresh(ctx context.Context, filesOnly bool) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("run it in the repository's root: %w", err)
	}
	run := func(line string) (string, error) { return shell(ctx, line) }
	if filesOnly {
		run = nil
	}
	shown, err := renew(string(text), run, func(path string) (string, error) {
		file, err := os.ReadFile(path)
		return string(file), err
	})
	if err != nil {
		return err
	}
	return result.WriteFile(document, []byte(shown))
}

// shell runs a command line with bin/ in the path, and returns its output. Its exit status is a verdict and no error.
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
	excerpt = regexp.MustCompile(`(?s)(<!-- (page|file) "([^"]+)"(?: (\d+))? -->\n)(.*?)(<!-- end -->)`)
)

// renew replaces what blocks show by what their commands print, and then what is copied from the newest page and from files.
// Without run it does so with files only.
func renew(text string, run, read func(string) (string, error)) (string, error) {
	var failed error
	text = console.ReplaceAllStringFunc(text, func(block string) string {
		parts := console.FindStringSubmatch(block)
		if failed != nil || run == nil {
			return block
		}
		out, err := run(parts[2])
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
		if run == nil && parts[2] != "file" {
			return block
		}
		shown, err := copied(parts[2], parts[3], parts[4], read)
		if err != nil {
			failed = errors.Join(failed, err)
			return block
		}
		return parts[1] + "\n" + shown + "\n" + parts[6]
	})
	return text, failed
}

// copied is a file, or a part of the newest page.
func copied(kind, name, rows string, read func(string) (string, error)) (string, error) {
	if kind == "file" {
		return read(name)
	}
	n, err := strconv.Atoi(rows)
	if err != nil {
		return "", fmt.Errorf("the part of the page %q: how many rows? %w", name, err)
	}
	page, err := read(newest)
	if err != nil {
		return "", err
	}
	return section(page, name, n)
}

// section returns the first rows of the table in a section of a page, and the line that states the throughput.
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
