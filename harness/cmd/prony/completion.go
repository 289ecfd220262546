package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

var shells = []string{"bash", "zsh", "fish"}

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script of a shell",
		Long: `Prints a script for a shell. With it the Tab key completes commands, flags, scenario files, run folders, tags, and the
values of flags that accept a fixed set. The script calls prony, which must be in PATH.`,
		Example: `  prony completion bash
  prony completion bash > ~/.local/share/bash-completion/completions/prony
  prony completion zsh > "${fpath[1]}/_prony"
  prony completion fish > ~/.config/fish/completions/prony.fish`,
		ValidArgs: shells,
		Args:      arguments{what: "shell", least: 1, most: 1, look: "there are bash, zsh and fish"}.check,
		RunE: func(c *cobra.Command, args []string) error {
			root, out := c.Root(), c.OutOrStdout()
			var err error
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(out, true)
			case "zsh":
				err = root.GenZshCompletion(out)
			case "fish":
				err = root.GenFishCompletion(out, true)
			default:
				return misused(c, "", "there is no completion for the shell %q: choose one of %s", args[0], strings.Join(shells, ", "))
			}
			if err != nil {
				return fmt.Errorf("print the script: %w", err)
			}
			return nil
		},
	}
}

// completeScenarioFiles completes the scenario files below scenarios/, or any .hcl file if none
// matches.
func completeScenarioFiles(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	files, _ := scenario.Find(defaultScenarios) // no completion after an error
	files = slices.DeleteFunc(files, func(file string) bool { return !strings.HasPrefix(file, begun) || slices.Contains(args, file) })
	if len(files) == 0 {
		return []cobra.Completion{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return files, cobra.ShellCompDirectiveDefault
}

// completeRuns completes the run folders below runs/, or any folder if none matches.
func completeRuns(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var runs []cobra.Completion
	for _, file := range []string{result.ResultFile, result.ComparisonFile, result.SoakFile} {
		found, _ := filepath.Glob(filepath.Join(defaultOut, "*", file)) // the pattern is valid
		for _, path := range found {
			if dir := filepath.Dir(path); strings.HasPrefix(dir, begun) && !slices.Contains(args, dir) && !slices.Contains(runs, dir) {
				runs = append(runs, dir)
			}
		}
	}
	if len(runs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	slices.Sort(runs)
	return runs, cobra.ShellCompDirectiveDefault
}

func completeTags(_ *cobra.Command, dirs []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(dirs) == 0 {
		dirs = []string{defaultScenarios}
	}
	tags := slices.DeleteFunc(tagsOf(soundIn(dirs...)), func(tag string) bool { return !strings.HasPrefix(tag, begun) })
	return tags, cobra.ShellCompDirectiveNoFileComp
}

func completeCommits(c *cobra.Command, given []string, begun string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// Only HEAD after an error.
	refs, _ := git(c.Context(), ".", "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags")
	for _, name := range append([]string{"HEAD"}, strings.Fields(refs)...) {
		if strings.HasPrefix(name, begun) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completeNames(_ *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, s := range soundIn(defaultScenarios) {
		if strings.HasPrefix(s.Name, begun) && !slices.Contains(given, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names, cobra.ShellCompDirectiveDefault
}

func completeFlag(c *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist, or already has a completion
	}
}

func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}
