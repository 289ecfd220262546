package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/config"
)

func (a serverCommands) config() *cobra.Command {
	return group("config", "Check a configuration file, show the settings in effect", `  queued config check /etc/queued.hcl
  queued config show --config /etc/queued.hcl --shards 2`,
		a.configCheck(), a.configShow())
}

func (a serverCommands) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Report all problems of a configuration file",
		Long: `Reports all problems of a configuration file, each with its line and a correction. It ignores flags and
the environment. It ends with 2 if there is a problem.`,
		Example: `  queued config check /etc/queued.hcl`,
		Args:    oneArg("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := loadFile(args[0])
			var problems *config.Problems
			if errors.As(err, &problems) {
				return a.badFile(args[0], problems)
			}
			if err != nil {
				return err
			}
			said := 0
			for _, s := range loaded.Settings {
				if s.Origin == config.FromFile {
					said++
				}
			}
			return a.print(members{{"file", args[0]}, {"ok", true}, {"problems", []config.Problem{}}}, func(t *table) {
				t.row(fmt.Sprintf("%s is valid: %s", args[0], count(said, "setting")))
			})
		},
	}
}

// loadFile loads one configuration file without flags and environment variables.
func loadFile(path string) (*config.Loaded, error) {
	loader := config.NewLoader()
	flags := pflag.NewFlagSet("file", pflag.ContinueOnError)
	loader.AddFlags(flags)
	if err := flags.Set(config.FileFlag, path); err != nil {
		return nil, err
	}
	return loader.Load(nil, nil)
}

// badFile prints the problems of a configuration file as the command's result, and returns a
// badFileError.
func (a serverCommands) badFile(path string, problems *config.Problems) error {
	err := a.print(members{{"file", path}, {"ok", false}, {"problems", problems.List}}, func(t *table) {
		for _, p := range problems.List {
			t.row(p.String())
		}
	})
	return errors.Join(badFileError{fmt.Errorf("%s has %s", path, count(len(problems.List)+problems.Omitted, "problem"))}, err)
}

func (a serverCommands) configShow() *cobra.Command {
	loader := config.NewLoader()
	c := &cobra.Command{
		Use:   "show",
		Short: "Print every setting with its value and its source",
		Long: `Prints every setting that 'queued serve' with the same flags, environment and file would use, with its value and
the source of the value.`,
		Example: `  queued config show
  QUEUED_SHARDS=4 queued config show --config /etc/queued.hcl --durability none`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			loaded, err := loader.Load(a.env, clientVariables())
			if err != nil {
				return err
			}
			if a.output == formatTable {
				for _, w := range loaded.Warnings {
					a.note("warning: %s\n", w)
				}
			}
			warnings := append([]config.Problem{}, loaded.Warnings...)
			return a.print(members{{"settings", settingDocuments(loaded)}, {"warnings", warnings}}, func(t *table) {
				t.row("SETTING", "VALUE", "FROM")
				for _, s := range loaded.Settings {
					from := string(s.Origin)
					if s.At != "" {
						from += " " + s.At
					}
					t.row(s.Path, or(s.Value(), "-"), from)
				}
			})
		},
	}
	settingFlags(c, loader)
	return c
}

// settingDocument is the JSON form of a setting.
type settingDocument struct {
	Name   string        `json:"name"`
	Value  string        `json:"value"`
	Origin config.Origin `json:"origin"`
	At     string        `json:"at"`
}

func settingDocuments(loaded *config.Loaded) []settingDocument {
	documents := make([]settingDocument, len(loaded.Settings))
	for i, s := range loaded.Settings {
		documents[i] = settingDocument{s.Path, s.Value(), s.Origin, s.At}
	}
	return documents
}
