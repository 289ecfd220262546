package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// NotRecorded is the value of a setting of a stored scenario whose writer did not know the
	// setting.
	NotRecorded = "not recorded"
	// Unset is the default of an attribute or a block that a scenario does not have by default.
	Unset = "unset"
)

// Setting is an attribute of a scenario with its value, as text.
type Setting struct {
	Path  string `json:"path"` // "topology.busy_poll", "workload.main.batch", "validity.steal_percent_max"
	Value string `json:"value"`
	// Default is "" if a scenario must say the attribute, and Unset if the attribute is absent by
	// default.
	Default string `json:"default,omitempty"`
}

// OfPlan reports whether s says how many rounds there are or what is measured beside the timed
// rounds, so that the figures of a timed round do not depend on s.
func (s Setting) OfPlan() bool { return ofPlan(s.Path) }

// Difference is a setting that two scenarios have different values for.
type Difference struct {
	Path         string
	Base, Change string // "" on a side that does not have the setting
}

func (d Difference) String() string {
	side := func(value string) string {
		if value == "" {
			return "absent"
		}
		return strconv.Quote(value)
	}
	return fmt.Sprintf("%s is %s and %s", d.Path, side(d.Base), side(d.Change))
}

// settingsIgnored are the top-level names of a stored scenario that are no settings: what it is
// called, where it is from, and what its runs are judged by. The values of variables are in the
// settings that use them.
var settingsIgnored = []string{"name", "title", "tags", "file", "variables", "limits", "score"}

// settingsOfPlan are top-level names of settings that change how many rounds there are and what is
// measured beside them, and not what a timed round measures.
var settingsOfPlan = []string{"rounds", "file_rounds", "profiled_rounds", "captures", "references"}

// faultsEveryPath is the one setting of a soak that changes what its servers get; the others say
// how long it is, what is kept of it and how it is judged.
const faultsEveryPath = "soak.faults_every"

func ofPlan(path string) bool {
	top := topOf(path)
	return slices.Contains(settingsOfPlan, top) || top == "soak" && path != faultsEveryPath
}

// Settings returns every setting of s that differs from its default, or that has no default, sorted
// by path. The settings are all fields of the stored form of a scenario, and the defaults are those
// of the parser, so that a new attribute is in both. A setting with a default that s, as read from
// an older file, does not have has the value NotRecorded.
func (s *Scenario) Settings() []Setting {
	if s.Topology.Kind == "" && len(s.Workloads) == 0 {
		return nil // of a run that did not record its scenario
	}
	own, defaults := s.flat(), s.defaults()
	var settings []Setting
	for path, value := range own {
		std, has := defaults[path]
		switch {
		case s.Soak != nil && path == "rounds": // a soak has none
			continue
		case has && std == value:
			continue
		case !has && value == "true":
			std = "false"
		case !has && !isRequired(path):
			std = Unset
		}
		settings = append(settings, Setting{path, value, std})
	}
	if s.validityUnrecorded {
		settings = append(settings, Setting{validityName, NotRecorded, "the default limits"})
	}
	for path, std := range defaults {
		_, has := own[path]
		if !has && (!s.validityUnrecorded || topOf(path) != validityName) {
			settings = append(settings, Setting{path, NotRecorded, std})
		}
	}
	slices.SortFunc(settings, func(a, b Setting) int { return strings.Compare(a.Path, b.Path) })
	return settings
}

// Differences returns the settings that base and change have different values for, sorted by path.
// The number of rounds and the captures are left out: the rounds that are timed are alike. So is
// what either side did not record.
func Differences(base, change *Scenario) []Difference {
	a, b := base.flat(), change.flat()
	var all []Difference
	add := func(path string) {
		top := topOf(path)
		_, inA := a[path]
		_, inB := b[path]
		unrecorded := top == validityName && (!inA || !inB)
		if a[path] != b[path] && !ofPlan(path) && !unrecorded {
			all = append(all, Difference{path, a[path], b[path]})
		}
	}
	for path := range a {
		add(path)
	}
	for path := range b {
		if _, both := a[path]; !both {
			add(path)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// Work returns what a scenario, or its point with these values, has its servers and generators do,
// as text: equal texts are the same work with the same settings, whatever the scenario is called
// and how often it is measured. A setting that was not recorded counts as its default.
func (s *Scenario) Work(values []Value) string {
	all := s.defaults()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.flat())
	for _, v := range values {
		if swept := s.Swept(v.Path); len(swept) == 0 || swept[0] != v.Text { // s has the first point's values
			setSwept(all, v)
		}
	}
	var lines []string
	for path, value := range all {
		if top := topOf(path); top != validityName && top != "sweeps" && !ofPlan(path) {
			lines = append(lines, path+" = "+value)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// setSwept gives a setting the value of a point: of another kind of topology, what that kind has by
// default.
func setSwept(all map[string]string, v Value) {
	if v.Path != kindPath {
		all[v.Path] = strings.Trim(v.Text, `"`)
		return
	}
	kind, nodes, _ := strings.Cut(strings.TrimSuffix(v.Text, ")"), "(")
	all[v.Path] = kind
	if kind != Raft {
		delete(all, nodesPath)
		delete(all, coalescePath)
		return
	}
	all[nodesPath] = nodes
	if all[coalescePath] == "" {
		all[coalescePath] = "true"
	}
}

const (
	kindPath     = "topology." + kindAttribute
	nodesPath    = "topology.nodes"
	coalescePath = "topology.coalesce"
	remotePath   = "topology.remote."
)

const validityName = "validity"

// topOf is the block or the attribute of a scenario that a path begins with.
func topOf(path string) string {
	top, _, _ := strings.Cut(path, ".")
	return top
}

// flat returns the settings of s by their paths, those at their defaults included.
func (s *Scenario) flat() map[string]string {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil // only a hand-made scenario has numbers that JSON can't hold
	}
	var stored map[string]any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&stored); err != nil {
		return nil
	}
	if one, is := stored["workload"]; is { // one workload has the paths that it has among several
		stored["workloads"] = []any{one}
		delete(stored, "workload")
	}
	for _, name := range settingsIgnored {
		delete(stored, name)
	}
	if s.validityUnrecorded {
		delete(stored, validityName)
	}
	all := map[string]string{}
	for name, value := range stored {
		// A sweep names a setting of a workload workload.NAME.ATTRIBUTE.
		flatten(all, strings.Replace(name, "workloads", "workload", 1), value)
	}
	return all
}

// flatten adds the leaves of a JSON value to all, by their paths.
func flatten(all map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			flatten(all, path+"."+name, inner)
		}
	case []any:
		var texts []string
		for i, element := range v {
			object, is := element.(map[string]any)
			if !is {
				texts = append(texts, fmt.Sprint(element))
				continue
			}
			name, key := elementName(v, i)
			if key != "kind" {
				delete(object, key) // the path says it
			}
			flatten(all, path+"."+name, object)
		}
		if len(texts) > 0 {
			all[path] = strings.Join(texts, ", ")
		}
	default:
		all[path] = fmt.Sprint(v)
	}
}

// elementName names an object of a list by its name, path or kind, or by its number from 1 if
// another object has the same. The key is that of the name, or "".
func elementName(list []any, i int) (name, key string) {
	for _, key := range []string{"name", "path", "kind"} {
		var names []any
		for _, element := range list {
			if object, is := element.(map[string]any); is {
				names = append(names, object[key])
			}
		}
		if len(names) < len(list) || names[i] == nil {
			continue
		}
		own := names[i]
		names[i] = nil
		if !slices.Contains(names, own) {
			return fmt.Sprint(own), key
		}
	}
	return strconv.Itoa(i + 1), ""
}

// defaults returns the settings of a scenario that says only what it must: of the same kinds of
// topology, drivers and arrivals as s. Settings that have no default are left out.
func (s *Scenario) defaults() map[string]string {
	var text strings.Builder
	fmt.Fprintf(&text, "scenario %q {\n %s {\n", s.Name, s.Topology.header())
	switch s.Topology.Kind {
	case NoTopology:
	case ByProgram:
		fmt.Fprintf(&text, "  guarantee = %q\n", s.Topology.Durability)
	default:
		fmt.Fprintf(&text, "  durability = %q\n", s.Topology.Durability)
	}
	if s.Topology.Kind == "sharded" {
		text.WriteString("  shards = 1\n")
	}
	if s.Topology.Kind == Remote {
		text.WriteString("  node \"n1\" {\n   address = \"a:1\"\n   admin = \"a:2\"\n  }\n")
	}
	text.WriteString(" }\n")
	for i := range s.Workloads {
		s.Workloads[i].leastText(&text)
	}
	if s.Soak != nil {
		text.WriteString(" soak { for = \"1s\" }\n")
	}
	text.WriteString(" phases { window = \"1s\" }\n}\n")
	parsed, err := parse("defaults", []byte(text.String()), map[string]string{defaultScript: ""})
	if err != nil {
		return nil // s is not one that the parser would return
	}
	least := parsed[0]
	for i := range least.Workloads {
		least.Workloads[i].Arrivals = Arrivals{Kind: Closed}
		least.Workloads[i].FirstTenant = s.Workloads[i].FirstTenant // it follows from the other workloads
	}
	all := least.flat()
	if len(s.Captures) > 0 {
		all["profiled_rounds"] = "1"
	}
	maps.DeleteFunc(all, func(path, _ string) bool { return isRequired(path) || strings.HasPrefix(path, remotePath) })
	return all
}

// header is how the block begins that t is read from.
func (t Topology) header() string {
	if t.Target != nil {
		return fmt.Sprintf("target %q", t.Target.Name)
	}
	return fmt.Sprintf("topology %q", t.Kind)
}

const defaultScript = "script.js"

// required are the attributes that a scenario must say, by block.
var required = map[string][]string{
	"topology": {"kind", "durability", "name"},
	"workload": {"driver", "producers", "workers", "script", "script_sha256"},
	"phases":   {"window"},
	"soak":     {"for", "percent_max", "because"},
}

func isRequired(path string) bool {
	parts := strings.Split(path, ".")
	return slices.Contains(required[parts[0]], parts[len(parts)-1])
}

// leastText writes the workload's block with the attributes that it must have.
func (w *Workload) leastText(text *strings.Builder) {
	fmt.Fprintf(text, " workload %q {\n  driver = %q\n", w.Name, w.Driver)
	switch w.Arrivals.Kind {
	case None:
		text.WriteString("  arrivals = none()\n")
	case Closed:
		text.WriteString("  producers = 1\n  workers = 1\n")
	default: // the bound on tasks in flight is that of arrivals that are timed
		text.WriteString("  producers = 1\n  workers = 1\n  arrivals = rate(\"1/s\")\n")
	}
	if w.Driver == DriverK6 {
		fmt.Fprintf(text, "  script = %q\n", defaultScript)
	}
	text.WriteString(" }\n")
}
