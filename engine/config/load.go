package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/internal/setting"
)

// Origin is the kind of source that a value came from.
type Origin string

// These are the origins, in ascending order of precedence.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
)

// Effective is a setting with its value in effect and the source of that value.
type Effective struct {
	*Setting
	Origin Origin
	// At is the place in the source, such as "queued.hcl:3:1", "QUEUED_SHARDS" or "--shards". It is
	// "" for a default.
	At string

	offset int // byte offset in the file, from 1; 0 for a value from another source
}

// Loader collects the sources of a configuration. It may be used for only one load, and is not safe
// for concurrent use.
type Loader struct {
	config *Config
	table  []*Setting
	flags  map[*Setting][]string // the values of each flag, in order
	file   string
}

// NewLoader returns a loader with the default configuration.
func NewLoader() *Loader {
	c := Default()
	return &Loader{config: c, table: Table(c), flags: map[*Setting][]string{}}
}

// Settings returns all settings. They have their default values until Load is called.
func (l *Loader) Settings() []*Setting { return l.table }

// These are the names of the flag and the environment variable with the path of the file.
const (
	FileFlag = "config"
	FileEnv  = EnvPrefix + "CONFIG"
)

// AddFlags defines a flag for each setting, and --config for the file. The values are checked
// later, by Load.
func (l *Loader) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&l.file, FileFlag, "", "read the settings in this HCL file; flags and the environment override it")
	for _, s := range l.table {
		f := flags.VarPF(&flagValue{loader: l, setting: s, def: s.Value()}, s.Flag(), "", s.Usage)
		if s.value.kind == kindBool {
			f.NoOptDefVal = "true"
		}
	}
}

type flagValue struct {
	loader  *Loader
	setting *Setting
	def     string
}

func (f *flagValue) Set(text string) error {
	if k := f.setting.value.kind; k != kindList && k != kindMap { // the last value replaces others
		delete(f.loader.flags, f.setting)
	}
	f.loader.flags[f.setting] = append(f.loader.flags[f.setting], text)
	return nil
}

// Choices returns the values that the flag accepts. It returns nil if other values are accepted
// too.
func (f *flagValue) Choices() []string { return f.setting.Choices() }

func (f *flagValue) Type() string { return f.setting.Kind() }

func (f *flagValue) String() string {
	if f.setting == nil { // pflag creates a zero flagValue to recognize empty defaults
		return ""
	}
	return f.def
}

// Loaded is the result of Load.
type Loaded struct {
	Config   *Config
	Settings []Effective
	// Warnings describe input that is valid but probably a mistake.
	Warnings []Problem
}

// Load reads the file and the environment, whose elements have the form NAME=value, and returns the
// configuration. It ignores the variables in others, which other programs read. The error is a
// *Problems.
func (l *Loader) Load(environment, others []string) (*Loaded, error) {
	out, err := l.load(environment, others)
	if err != nil {
		return nil, err
	}
	if err := out.Explain(errors.Join(l.together(), l.config.Node.Check())); err != nil {
		return nil, err
	}
	return out, nil
}

// Explain converts the errors about settings in err to a *Problems, which contains the place of
// each value, and joins it with the other errors. It returns nil if err is nil.
func (l *Loaded) Explain(err error) error {
	faults, others := setting.Split(err)
	var problems Problems
	for _, f := range faults {
		l.note(&problems, f)
	}
	return errors.Join(append([]error{problems.err()}, others...)...)
}

// note adds a problem for a fault. The place of the problem is the place of the first setting whose
// value is not the default, or else of the first setting. If several settings are at fault, the
// message contains the value and the source of each.
func (l *Loaded) note(problems *Problems, fault *setting.Error) {
	at, offset := "", 0
	var values []string
	for _, path := range fault.Paths {
		i := slices.IndexFunc(l.Settings, func(e Effective) bool { return e.Path == path })
		if i < 0 {
			continue
		}
		e := &l.Settings[i]
		from := "the default"
		if e.Origin != FromDefault {
			from = "from " + e.At
			if at == "" {
				at, offset = e.At, e.offset
			}
		}
		values = append(values, fmt.Sprintf("%s is %s, %s", pathName(path), e.Value(), from))
	}
	switch {
	case at != "":
	case len(fault.Paths) > 0:
		at = "--" + (&Setting{Path: fault.Paths[0]}).Flag()
	default:
		at = "this process"
	}
	message := fault.Problem()
	if len(values) > 1 {
		message += " (" + strings.Join(values, "; ") + ")"
	}
	problems.addAt(offset, at, message, fault.Remedy)
}

// together returns an error for each default for tasks that exceeds the corresponding limit.
func (l *Loader) together() error {
	q, most := &l.config.Node.Queue, &l.config.Node.Limits
	var errs []error
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
			low, high := &Setting{Path: c.low}, &Setting{Path: c.high}
			errs = append(errs, setting.Wrap(fmt.Errorf("%s is above %s", pathName(c.low), pathName(c.high)),
				fmt.Sprintf("lower --%s, or raise --%s", low.Flag(), high.Flag()), c.low, c.high))
		}
	}
	return errors.Join(errs...)
}

// load implements Load, except for the checks of settings against each other.
func (l *Loader) load(environment, others []string) (*Loaded, error) {
	var problems Problems
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
			e.Origin, e.At, e.offset = FromFile, place(v.at), v.at.Start.Byte+1
			s.apply(e.At, e.offset, v.texts, &problems)
		}
		if text, set := env[s.Env()]; set {
			e.Origin, e.At, e.offset = FromEnvironment, s.Env(), 0
			s.apply(e.At, 0, []string{text}, &problems)
		}
		if texts, set := l.flags[s]; set {
			e.Origin, e.At, e.offset = FromFlag, "--"+s.Flag(), 0
			s.apply(e.At, 0, texts, &problems)
		}
		out.Settings = append(out.Settings, e)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// apply sets a value, or adds a problem if the value is invalid. offset is the byte offset in the
// file, from 1. It is 0 for flags and variables, whose names already identify the setting.
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

// environment returns the environment variables for this server, and warnings about variables with
// similar names. It ignores other variables with the same prefix, because a cluster manager may
// define some.
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

// pathName returns a setting's path in the form that messages use, such as "cert in tls".
func pathName(path string) string {
	if block, attribute, inner := strings.Cut(path, "."); inner {
		return attribute + " in " + block
	}
	return path
}

// Nearest returns the candidate that was most likely misspelt as name, or "". The two may
// differ by at most two added, omitted or changed characters. The number of these characters must
// not exceed half of the length of name.
func Nearest(name string, candidates []string) string {
	nearest, least := "", 3
	for _, c := range candidates {
		if d := levenshtein.Distance(name, c, nil); d < least && 2*d <= len(name) {
			nearest, least = c, d
		}
	}
	return nearest
}
