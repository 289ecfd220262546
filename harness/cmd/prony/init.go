package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// begun is what `prony init --json` prints.
type begun struct {
	Scenario string        `json:"scenario"`
	File     string        `json:"file"`
	Next     []nextCommand `json:"next"`
}

// nextCommand is a suggestion for the next command.
type nextCommand struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

func initCommand() *cobra.Command {
	var out string
	var asJSON bool
	answers := defaultAnswers()
	c := &cobra.Command{
		Use:   "init NAME",
		Short: "Write a first scenario",
		Long: `Writes a scenario file with a comment on each part, as a starting point. On a terminal it asks for the main settings, unless a
flag sets one of them. Settings without a flag or an answer have their defaults: closed load, payloads of 64 to 256 bytes, no
limit, durability sync, one server. It never overwrites an existing file.

NAME consists of a-z, 0-9 and -. The file is scenarios/NAME.hcl, or NAME.hcl if there is no folder scenarios.`,
		Example: `  prony init checkout
  prony init checkout --rate 2k/s --payload 4KiB --latency-max 50ms
  prony init ordered-copy --topology raft --durability none --out copy.hcl`,
		Args:              arguments{what: "name for the scenario", least: 1, most: 1}.check,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			answers.name = args[0]
			file, err := newFile(args[0], out)
			if err != nil {
				return err
			}
			if asksFor(c) {
				err = ask(c.Context(), c.InOrStdin(), c.ErrOrStderr(), &answers)
			} else {
				err = answers.checkFlags()
			}
			if err != nil {
				return err
			}
			if err := create(file, answers.scenario()); err != nil {
				return err
			}
			return sayBegun(c, asJSON, answers, file)
		},
	}
	for _, q := range answers.questions() {
		c.Flags().StringVar(q.into, q.flag, *q.into, q.what+": "+q.takes)
		if len(q.oneOf) > 0 {
			completeFlag(c, q.flag, oneOf(q.oneOf...))
		}
	}
	c.Flags().StringVar(&out, "out", "", "file to write, instead of scenarios/NAME.hcl")
	jsonFlag(c, &asJSON)
	return c
}

// asksFor reports whether stdin is a terminal and no flag answers a question.
func asksFor(c *cobra.Command) bool {
	in, isFile := c.InOrStdin().(*os.File)
	said := slices.ContainsFunc(new(answers).questions(), func(q question) bool { return c.Flags().Changed(q.flag) })
	return isFile && isTerminal(in) && isTerminal(c.ErrOrStderr()) && !said
}

// newFile returns the path of the file to write. It checks that the name is valid and not taken,
// and that the file does not exist.
func newFile(name, out string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	file := out
	if file == "" {
		file = name + ".hcl"
		if info, err := os.Stat(defaultScenarios); err == nil && info.IsDir() {
			file = filepath.Join(defaultScenarios, file)
		}
	}
	switch info, err := os.Stat(file); {
	case err == nil && info.IsDir():
		return "", fmt.Errorf("--out %s is a folder: name the file, for example %s", out, filepath.Join(out, name+".hcl"))
	case err == nil:
		return "", existsError(file)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("look for %s: %w", file, err)
	case !strings.HasSuffix(file, ".hcl"):
		return "", fmt.Errorf("--out %s must end in .hcl: write %s.hcl", out, out)
	}
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("--out %s: there is no folder %s: make it first", out, dir)
	}
	return file, notTaken(name, dir)
}

// notTaken returns an error if a scenario of a folder has that name, because `prony list` and
// others would reject the folder.
func notTaken(name, dir string) error {
	for _, s := range soundIn(dir) {
		if s.Name == name {
			return fmt.Errorf("scenario %q already exists in %s: choose another name", name, s.File)
		}
	}
	return nil
}

func existsError(file string) error {
	return fmt.Errorf("%s already exists: choose another name, name another file with --out, or remove it", file)
}

// create writes a new file. It returns an error if the file exists.
func create(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a scenario is as readable as other sources
	if errors.Is(err, fs.ErrExist) {
		return existsError(file)
	}
	if err != nil {
		return fmt.Errorf("write the scenario: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the scenario: %w", err)
	}
	return nil
}

// sayBegun prints the name of the written file, and the next commands.
func sayBegun(c *cobra.Command, asJSON bool, a answers, file string) error {
	of := func(command string) string { return commandText([]string{"prony", command, file}) }
	next := []nextCommand{
		{of("validate"), "check the file after each change"},
		{of("explain"), "show what a run does, how long it takes, and what it can show"},
		{of("run"), "measure: the result and its page go to " + defaultOut + "/"},
	}
	if a.latencyMax != "" {
		next = append(next, nextCommand{"prony check", "judge the newest run by the limit in the file"})
	} else {
		next = append(next, nextCommand{"prony report", "write the page of the newest run again"})
	}
	if asJSON {
		return printJSON(c, begun{Scenario: a.name, File: file, Next: next})
	}
	width := 0
	for _, n := range next {
		width = max(width, len(n.Command))
	}
	text := fmt.Sprintf("wrote %s: %s\nnext:\n", file, a.inWords())
	for _, n := range next {
		text += fmt.Sprintf("  %-*s  %s\n", width, n.Command, n.Does)
	}
	if _, err := fmt.Fprint(c.OutOrStdout(), text); err != nil {
		return fmt.Errorf("print what was written: %w", err)
	}
	return nil
}
