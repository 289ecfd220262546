package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Origin is the kind of source of a value.
type Origin string

// The origins, each taking precedence over the one before it.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
)

// Effective is a setting with its effective value and the source of the value.
type Effective struct {
	*Setting
	Origin Origin
	// At is the place in the origin: "queued.hcl:3:1", "QUEUED_SHARDS" or "--shards"; "" for a default.
	At string
}

// Loader collects the sources of a configuration. It is for one load and not safe for concurrent use.
type Loader struct {
	config *Config
	table  []*Setting
	flags  map[*Setting][]string // the values of flags, in order
	file   string

	removed []string // paths of removed settings that flags gave
}

// NewLoader returns a loader whose configuration is the default.
func NewLoader() *Loader {
	c := Default()
	return &Loader{config: c, table: Table(c), flags: map[*Setting][]string{}}
}

// Settings are all settings, with the defaults until Load was called.
func (l *Loader) Settings() []*Setting { return l.table }

// FileFlag is the flag that names the file, and FileEnv the variable.
const (
	FileFlag = "config"
	FileEnv  = EnvPrefix + "CONFIG"
)

// AddFlags defines a flag for each setting, and --config for the file. Load checks their values.
func (l *Loader) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.file, FileFlag, "", "read the settings in this HCL file; flags and the environment override it")
	for _, s := range l.table {
		f := flags.VarPF(&flagValue{loader: l, setting: s, def: s.Value()}, s.Flag(), "", s.Usage)
		if s.value.kind == kindBool {
			f.NoOptDefVal = "true"
		}
	}
	l.addRemovedFlags(flags)
}

// flagValue keeps the values of a flag for Load.
type flagValue struct {
	loader  *Loader
	setting *Setting
	def     string
}

func (f *flagValue) Set(text string) error {
	if k := f.setting.value.kind; k != kindList && k != kindMap { // the last value counts, as is usual
		delete(f.loader.flags, f.setting)
	}
	f.loader.flags[f.setting] = append(f.loader.flags[f.setting], text)
	return nil
}

func (f *flagValue) Type() string { return f.setting.Kind() }

func (f *flagValue) String() string {
	if f.setting == nil { // pflag makes a zero value to recognize empty defaults
		return ""
	}
	return f.def
}

// Loaded is the result of Load.
type Loaded struct {
	Config   *Config
	Settings []Effective
	// Warnings are about input that is valid and probably a mistake.
	Warnings []Problem
}

// Load reads the file and the environment, "NAME=value" each, and returns the configuration. It
// ignores the variables in others, which other programs read. The error is a *Problems.
func (l *Loader) Load(environment, others []string) (*Loaded, error) {
	out, err := l.load(environment, others)
	if err != nil {
		return nil, err
	}
	var problems Problems
	l.together(&problems)
	if err := l.config.Node.Check(); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			problems.add(l.whole(), line, "")
		}
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// together adds a problem for each default of tasks that exceeds its limit.
func (l *Loader) together(problems *Problems) {
	values := map[string]string{}
	for _, s := range l.table {
		values[s.Path] = s.Value()
	}
	q, most := &l.config.Node.Queue, &l.config.Node.Limits
	for _, c := range []struct {
		low, high string
		wrong     bool
	}{
		{"queue.backoff_initial", "queue.backoff_max", q.Backoff.InitialMs > q.Backoff.MaxMs},
		{"queue.backoff_max", "limits.delay_max", q.Backoff.MaxMs > most.DelayMsMax},
		{"queue.lease", "limits.lease_max", q.LeaseMs > most.LeaseMsMax},
		{"queue.max_attempts", "limits.attempts_max", q.MaxAttempts > most.AttemptsMax},
	} {
		if c.wrong {
			problems.add(l.whole(), fmt.Sprintf("%s, %s, is above %s, %s", c.low, values[c.low], c.high, values[c.high]), "lower one, or raise the other")
		}
	}
}

// load is Load without the checks of settings against each other.
func (l *Loader) load(environment, others []string) (*Loaded, error) {
	var problems Problems
	l.noteRemoved(environment, &problems)
	env, warnings := l.environment(environment, others)
	if l.file == "" {
		l.file = env[FileEnv]
	}
	var file map[string]fileValue
	if l.file != "" {
		file = readFile(l.file, l.table, &problems)
	}
	out := &Loaded{Config: l.config, Warnings: warnings}
	for _, s := range l.table {
		e := Effective{Setting: s, Origin: FromDefault}
		if v, set := file[s.Path]; set {
			e.Origin, e.At = FromFile, place(v.at)
			s.apply(e.At, v.at.Start.Byte+1, v.texts, &problems)
		}
		if text, set := env[s.Env()]; set {
			e.Origin, e.At = FromEnvironment, s.Env()
			s.apply(e.At, 0, []string{text}, &problems)
		}
		if texts, set := l.flags[s]; set {
			e.Origin, e.At = FromFlag, "--"+s.Flag()
			s.apply(e.At, 0, texts, &problems)
		}
		out.Settings = append(out.Settings, e)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// whole names the place of a problem that concerns several settings.
func (l *Loader) whole() string {
	if l.file != "" {
		return l.file
	}
	return "configuration"
}

// apply sets a value, or adds a problem. The offset is the place in the file, from 1, or 0 for flags and variables, whose place
// names the setting already.
func (s *Setting) apply(at string, offset int, texts []string, problems *Problems) {
	err := s.value.set(texts)
	if err == nil {
		return
	}
	name := ""
	if offset > 0 {
		name = pathName(s.Path) + " "
	}
	problems.addAt(offset, at, fmt.Sprintf("%s%s %s", name, strconv.Quote(strings.Join(texts, ",")), err), "")
}

// environment returns the variables of this server, and warnings about variables whose names are similar. It ignores others with
// the same prefix: a cluster manager may define some.
func (l *Loader) environment(all, others []string) (map[string]string, []Problem) {
	known := []string{FileEnv}
	for _, s := range l.table {
		known = append(known, s.Env())
	}
	found := map[string]string{}
	var warnings []Problem
	for _, variable := range all {
		name, text, _ := strings.Cut(variable, "=")
		switch {
		case !strings.HasPrefix(name, EnvPrefix) || slices.Contains(others, name):
		case slices.Contains(known, name):
			found[name] = text
		default:
			if meant := Nearest(name, known); meant != "" {
				warnings = append(warnings, Problem{At: name, Message: "there is no such environment variable", Remedy: "did you mean " + meant + "?"})
			}
		}
	}
	return found, warnings
}

// pathName returns a setting as a file has it: "cert in tls".
func pathName(path string) string {
	if block, attribute, inner := strings.Cut(path, "."); inner {
		return attribute + " in " + block
	}
	return path
}
