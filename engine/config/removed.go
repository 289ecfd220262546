package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// removed has the settings of earlier versions, by path, with their replacement. A configuration
// that still has one is refused.
var removed = map[string]string{
	"cluster.secret": "the nodes of a cluster show each other certificates: make them with 'queued cluster init', and name the node's folder with --cluster-certs, which is certs in cluster",
}

func noteRemoved(problems *Problems, offset int, at, path string) {
	problems.addAt(offset, at, fmt.Sprintf("%s is no longer a setting", pathName(path)), removed[path])
}

func (l *Loader) addRemovedFlags(flags *pflag.FlagSet) {
	for _, path := range slices.Sorted(maps.Keys(removed)) {
		s := &Setting{Path: path}
		flags.VarPF(&removedFlag{loader: l, path: path}, s.Flag(), "", "removed: "+removed[path]).Hidden = true
	}
}

// removedFlag records that it was given. Load reports it.
type removedFlag struct {
	loader *Loader
	path   string
}

func (f *removedFlag) Set(string) error {
	if !slices.Contains(f.loader.removed, f.path) {
		f.loader.removed = append(f.loader.removed, f.path)
	}
	return nil
}

func (*removedFlag) Type() string   { return "text" }
func (*removedFlag) String() string { return "" }

// noteRemoved adds problems for removed settings in flags and variables. fileReader reports those
// in the file.
func (l *Loader) noteRemoved(environment []string, problems *Problems) {
	for _, path := range slices.Sorted(maps.Keys(removed)) {
		s := &Setting{Path: path}
		if slices.ContainsFunc(environment, func(v string) bool { return strings.HasPrefix(v, s.Env()+"=") }) {
			noteRemoved(problems, 0, s.Env(), path)
		}
		if slices.Contains(l.removed, path) {
			noteRemoved(problems, 0, "--"+s.Flag(), path)
		}
	}
}
