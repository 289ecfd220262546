package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Setting returns the value at a dotted path of the scenario as expanded, for example "topology.durability".
// Upper and lower case and underscores in names do not matter. Where the scenario has no such value, or has an
// object there, found is false: manifests of other versions are still readable.
func (m Manifest) Setting(path string) (value string, found bool) {
	current, found := m.lookup(path)
	if !found {
		return "", false
	}
	switch v := current.(type) {
	case string:
		return v, v != ""
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	default:
		return "", false
	}
}

// Settings returns the objects of the list at a dotted path, each as a manifest of its own to ask for settings.
func (m Manifest) Settings(path string) []Manifest {
	current, _ := m.lookup(path)
	list, _ := current.([]any)
	items := make([]Manifest, 0, len(list))
	for _, item := range list {
		items = append(items, Manifest{Scenario: item})
	}
	return items
}

func (m Manifest) lookup(path string) (any, bool) {
	current := normal(m.Scenario)
	for name := range strings.SplitSeq(path, ".") {
		object, ok := current.(map[string]any)
		if !ok {
			return nil, false
		}
		if current, ok = member(object, name); !ok {
			return nil, false
		}
	}
	return current, true
}

func member(object map[string]any, name string) (any, bool) {
	if value, exact := object[name]; exact {
		return value, true
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if fold(key) == fold(name) {
			return object[key], true
		}
	}
	return nil, false
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// normal brings any value to the form that JSON decodes to. A value that JSON cannot hold has no settings.
func normal(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var decoded any
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		return nil
	}
	return decoded
}

// Swept returns the values that the setting at a path of the scenario takes in a sweep, in their order, and none if it
// is not swept. The path is that of the setting as a sweep names it, for example "topology.shards".
func (m Manifest) Swept(path string) []string {
	for _, sweep := range m.Settings("sweeps") {
		if p, _ := sweep.Setting("path"); p != path {
			continue
		}
		var values []string
		current, _ := sweep.lookup("values")
		list, _ := current.([]any)
		for _, v := range list {
			values = append(values, fmt.Sprint(v))
		}
		return values
	}
	return nil
}

const durabilityPath = "topology.durability"

// Durability is when the server under test acknowledged, or "unknown"; of a sweep over it, all of them. It stands
// beside every number.
func (m Manifest) Durability() string {
	if swept := m.Swept(durabilityPath); len(swept) > 0 {
		return strings.Join(swept, ", ")
	}
	if d, found := m.Setting(durabilityPath); found {
		return d
	}
	return "unknown"
}

// Revision is the commit that was measured, marked if the working tree had changes.
func (b Build) Revision() string {
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	if b.Dirty {
		return fmt.Sprintf("%s (dirty)", commit)
	}
	return commit
}
