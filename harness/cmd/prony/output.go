package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pronybench/prony/harness/result"
)

// verdictError ends a command with a verdict that is already reported.
type verdictError struct{ verdict result.Verdict }

func (e verdictError) Error() string { return "verdict " + string(e.verdict) }

// jsonFlag adds --json to a command. Every command that does something has it: stdout is then one
// JSON document with a verdict, even if the command fails, and all output for people is on stderr.
func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print one JSON document on stdout")
}

func ciFlag(c *cobra.Command, folder *string) {
	c.Flags().StringVar(folder, "ci", "", "folder to write for CI: summary.md, annotations.txt, junit.xml and comment.md")
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(args)
	root.SetArgs(args[1:])
	out := &noted{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := unknownCommand(root, args[1:])
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	code := result.Misconfigured.ExitCode()
	var verdict verdictError
	switch {
	case ctx.Err() != nil:
		say(stderr, interruptedName)
		if !onlyCancelled(err) && !errors.As(err, &verdict) {
			say(stderr, "prony: %v", err)
		}
		return exitInterrupted // without a verdict
	case errors.As(err, &verdict):
		code = verdict.verdict.ExitCode()
	default:
		say(stderr, "prony: %v", err)
	}
	if out.used || !wantsJSON(args) {
		return code
	}
	if err := failure(err).WriteJSON(stdout); err != nil {
		say(stderr, "prony: %v", err)
	}
	return code
}

func failure(err error) *result.Document {
	d := &result.Document{Verdict: result.Misconfigured, Scenarios: []result.Outcome{}, Error: err.Error()}
	var verdict verdictError
	if errors.As(err, &verdict) {
		d.Verdict = verdict.verdict
	}
	return d
}

// wantsJSON reports whether the command line has --json, even if it is invalid.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// noted is a writer that records whether anything was written.
type noted struct {
	io.Writer
	used bool
}

func (n *noted) Write(p []byte) (int, error) {
	n.used = n.used || len(p) > 0
	return n.Writer.Write(p)
}

// finish prints the document if --json is set, and returns the command's error: its verdict, or
// err.
func finish(c *cobra.Command, asJSON bool, document *result.Document, err error) error {
	if err != nil && document == nil {
		return err
	}
	if err != nil {
		document.Verdict, document.Error = result.Misconfigured, err.Error()
	}
	if asJSON && c.Context().Err() == nil {
		if writeErr := document.WriteJSON(c.OutOrStdout()); writeErr != nil {
			return errors.Join(err, writeErr)
		}
	}
	switch {
	case err != nil:
		return err
	case document.Verdict != result.Pass:
		return verdictError{document.Verdict}
	}
	return nil
}

// finishPage prints the path of a written page, or a JSON document about it. of is the source of
// the page, and files are the page and its plots.
func finishPage(c *cobra.Command, asJSON bool, of string, files []string) error {
	if asJSON {
		written := result.Page{Of: of, Page: files[0], Files: append([]string{}, files[1:]...)}
		return finish(c, asJSON, &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}, Pages: []result.Page{written}}, nil)
	}
	if _, err := fmt.Fprintln(c.OutOrStdout(), files[0]); err != nil {
		return fmt.Errorf("print the page's path: %w", err)
	}
	return nil
}

// say writes a line for a person. It ignores errors, because nothing depends on the line.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, fmt.Sprintf(format, args...))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns a function that returns the current width of the terminal behind w, or nil if w
// is not a terminal.
func columns(w io.Writer) func() int {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width < 1 {
			return 80
		}
		return width
	}
}
