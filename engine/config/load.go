package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/internal/setting"
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

	offset int // in the file, from 1; 0 for a value that is not from there
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

// Choices are the values that the flag may have; nil for one that may have others.
func (f *flagValue) Choices() []string { return f.setting.Choices() }

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
	if err := out.Explain(errors.Join(l.together(), l.config.Node.Check())); err != nil {
		return nil, err
	}
	return out, nil
}

// Explain returns the settings at fault in err as *Problems, each with the place that its value came from, and the other errors beside
// them. It returns nil if err is nil.
func (l *Loaded) Explain(err error) error {
	faults, others := setting.Split(err)
	var problems Problems
	for _, f := range faults {
		l.note(&problems, f)
	}
	return errors.Join(append([]error{problems.err()}, others...)...)
}

// note adds the problem of a fault. The place is that of the first setting that is not a default, and else of the first one. If several
// settings are at fault, the message has the value of each and where it came from.
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

// together returns an error for each default of tasks that exceeds its limit.
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
