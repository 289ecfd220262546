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
	// NotRecorded is the value of a setting in a scenario that was stored by a version without this
	// setting.
	NotRecorded = "not recorded"
	// Unset is the default of an attribute or a block that is absent by default.
	Unset = "unset"
)

// Setting is an attribute of a scenario with its value as text.
type Setting struct {
	Path  string `json:"path"` // as in "topology.busy_poll" or "workload.main.batch"
	Value string `json:"value"`
	// Default is "" if the attribute is required, and Unset if the attribute is absent by default.
	Default string `json:"default,omitempty"`
}

// OfPlan reports whether s only affects the number of rounds or the measurements outside of timed
// rounds, so that the figures of a timed round do not depend on s.
func (s Setting) OfPlan() bool { return ofPlan(s.Path) }

// Difference is a setting with different values in two scenarios.
type Difference struct {
	Path         string
	Base, Change string // "" if this side does not have the setting
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

// settingsIgnored are the top-level names of a stored scenario that are not settings: its identity,
// its file, and the bounds for its runs. The values of variables appear in the settings that use
// them.
var settingsIgnored = []string{"name", "title", "tags", "file", "variables", "limits", "score"}

// settingsOfPlan are the top-level names of settings for which OfPlan is true.
var settingsOfPlan = []string{"rounds", "file_rounds", "profiled_rounds", "captures", "references"}

// faultsEveryPath is the only setting of a soak that changes the load on its servers. The others
// define its length, the storage of its results and the bounds on its figures.
const faultsEveryPath = "soak.faults_every"

func ofPlan(path string) bool {
	top := topOf(path)
	return slices.Contains(settingsOfPlan, top) || top == "soak" && path != faultsEveryPath
}

// Settings returns each setting of s that differs from its default or has no default, sorted by
// path. It derives the settings from the fields of the stored scenario and the defaults from the
// parser, so that it automatically includes new attributes. If s was stored by a version without a
// setting that has a default, the value of that setting is NotRecorded.
func (s *Scenario) Settings() []Setting {
	if s.Topology.Kind == "" && len(s.Workloads) == 0 {
		return nil // the run did not record its scenario
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

// Differences returns the settings with different values in base and change, sorted by path. It
// omits settings for which OfPlan is true, because they do not affect timed rounds, and settings
// that either side did not record.
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

// Work returns, as text, all settings that determine the work of the servers and generators of a
// scenario, or of its point with these values. Equal texts mean the same work with the same
// settings, independent of the scenario's name and its number of rounds. A setting that was not
// recorded counts as its default.
func (s *Scenario) Work(values []Value) string {
	all := s.defaults()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.flat())
	for _, v := range values {
		// s already has the values of the first point.
		if swept := s.Swept(v.Path); len(swept) == 0 || swept[0] != v.Text {
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

// setSwept sets a setting to the value of a point. If the setting is the kind of the topology, it
// also sets the defaults of that kind.
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

// topOf returns the first element of a path, which is a block or an attribute of the scenario.
func topOf(path string) string {
	top, _, _ := strings.Cut(path, ".")
	return top
}

// flat returns all settings of s by path, including those at their defaults.
func (s *Scenario) flat() map[string]string {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil // a number that JSON cannot represent, which the parser never returns
	}
	var stored map[string]any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&stored); err != nil {
		return nil
	}
	if one, is := stored["workload"]; is { // a single workload has the same paths as one of several
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
		// Sweeps use workload.NAME.ATTRIBUTE as the path of a workload's setting.
		flatten(all, strings.Replace(name, "workloads", "workload", 1), value)
	}
	return all
}

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
				delete(object, key) // the path contains it
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

// elementName returns the path element of an object in a list: its name, path or kind, or its
// number from 1 if another object has the same one. key is the JSON key of that text, or "" for a
// number.
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

// defaults returns the settings, by path, of a scenario with only the required attributes and with
// the same kinds of topology, drivers and arrivals as s. It omits settings without a default. It
// returns nil if the parser would not return a scenario such as s.
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
		return nil // the parser would not return a scenario such as s
	}
	least := parsed[0]
	for i := range least.Workloads {
		least.Workloads[i].Arrivals = Arrivals{Kind: Closed}
		least.Workloads[i].FirstTenant = s.Workloads[i].FirstTenant // depends on other workloads
	}
	all := least.flat()
	if len(s.Captures) > 0 {
		all["profiled_rounds"] = "1"
	}
	maps.DeleteFunc(all, func(path, _ string) bool { return isRequired(path) || strings.HasPrefix(path, remotePath) })
	return all
}

func (t Topology) header() string {
	if t.Target != nil {
		return fmt.Sprintf("target %q", t.Target.Name)
	}
	return fmt.Sprintf("topology %q", t.Kind)
}

const defaultScript = "script.js"

// required are the required attributes, by block.
var required = map[string][]string{
	"topology": append(topologyTable.required(), "kind", "name"),
	"workload": append(workloadTable.required(), "script_sha256"),
	"phases":   phasesTable.required(),
	"soak":     append(soakTable.required(), "percent_max", "because"),
}

func isRequired(path string) bool {
	parts := strings.Split(path, ".")
	return slices.Contains(required[parts[0]], parts[len(parts)-1])
}

// leastText writes a block for the workload with only the required attributes.
func (w *Workload) leastText(text *strings.Builder) {
	fmt.Fprintf(text, " workload %q {\n  driver = %q\n", w.Name, w.Driver)
	switch w.Arrivals.Kind {
	case None:
		text.WriteString("  arrivals = none()\n")
	case Closed:
		text.WriteString("  producers = 1\n  workers = 1\n")
	default: // the default of in_flight is that of an open load
		text.WriteString("  producers = 1\n  workers = 1\n  arrivals = rate(\"1/s\")\n")
	}
	if w.Driver == DriverK6 {
		fmt.Fprintf(text, "  script = %q\n", defaultScript)
	}
	text.WriteString(" }\n")
}
