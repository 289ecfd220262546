// Command readme measures again what harness/README.md shows: it carries out the commands of its console blocks in order,
// in the repository's root, and writes what they print. It takes some minutes, and a machine with nothing else to do:
//
//	make build && go run ./harness/cmd/readme
//
// A part of the newest run's page is copied between <!-- page "SECTION" N --> and <!-- end -->: the first N rows of the
// section's table, and its line that states the throughput where there is one.
package main

import (
	"context"
	"errors"
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
	if err := refresh(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
}

func refresh(ctx context.Context) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("run it in the repository's root: %w", err)
	}
	shown, err := renew(string(text), func(line string) (string, error) { return shell(ctx, line) }, func() (string, error) {
		page, err := os.ReadFile(newest)
		return string(page), err
	})
	if err != nil {
		return err
	}
	return result.WriteFile(document, []byte(shown))
}

// shell carries a command line out with bin/ in the path, and returns all it printed. What it ends with is its verdict, and
// no error.
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
	excerpt = regexp.MustCompile(`(?s)(<!-- page "([^"]+)" (\d+) -->\n)(.*?)(<!-- end -->)`)
)

// renew replaces what blocks show by what their commands print, and then the excerpts by what the page says.
func renew(text string, run func(line string) (string, error), page func() (string, error)) (string, error) {
	var failed error
	text = console.ReplaceAllStringFunc(text, func(block string) string {
		parts := console.FindStringSubmatch(block)
		if failed != nil {
			return block
		}
		out, err := run(parts[2])
		if err != nil {
			failed = fmt.Errorf("%s: %w", parts[2], err)
			return block
		}
		return parts[1] + parts[2] + "\n" + strings.TrimRight(out, "\n") + "\n" + parts[4]
	})
	if failed != nil || !excerpt.MatchString(text) {
		return text, failed
	}
	of, err := page()
	if err != nil {
		return "", err
	}
	text = excerpt.ReplaceAllStringFunc(text, func(block string) string {
		parts := excerpt.FindStringSubmatch(block)
		rows, err := strconv.Atoi(parts[3])
		var shown string
		if err == nil {
			shown, err = section(of, parts[2], rows)
		}
		if err != nil {
			failed = err
			return block
		}
		return parts[1] + "\n" + shown + "\n" + parts[5]
	})
	return text, failed
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
