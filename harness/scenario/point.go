package scenario

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// At returns the point of a stored scenario with these values. Points are not stored, so At starts
// from the settings of the first point and replaces the setting of each value. known is false if a
// value cannot be parsed here, such as arrivals or a payload.
func (s *Scenario) At(values []Value) (p Point, known bool) {
	p = Point{Values: values, Topology: s.Topology, Workloads: slices.Clone(s.Workloads), Attack: s.Attack}
	if o := s.Observe; o != nil {
		p.Observe = new(*o) // replace writes through a pointer
	}
	if c := s.Topology.Coalesce; c != nil {
		p.Topology.Coalesce = new(*c)
	}
	if h := s.Topology.Hosts; h != nil {
		p.Topology.Hosts = new(*h)
	}
	if t := s.Topology.Target; t != nil {
		p.Topology.Target = new(*t)
	}
	if b := s.Topology.Build; b != nil {
		p.Topology.Build = new(*b)
	}
	p.Topology.Settings = maps.Clone(s.Topology.Settings)
	for _, joined := range values {
		paths, texts := strings.Split(joined.Path, between), strings.Split(joined.Text, between)
		if len(paths) != len(texts) {
			return Point{}, false
		}
		for i, path := range paths {
			if !p.set(path, texts[i]) {
				return Point{}, false
			}
		}
	}
	return p, true
}

// set replaces the setting at a path and reports whether it could. It accepts settings of an attack
// but does not change them.
func (p *Point) set(path, text string) bool {
	block, attribute, _ := strings.Cut(path, ".")
	switch block {
	case "topology":
		if path == kindPath {
			return p.setKind(text)
		}
		if name, is := strings.CutPrefix(attribute, settingsPrefix); is {
			if p.Topology.Settings == nil {
				p.Topology.Settings = map[string]string{}
			}
			p.Topology.Settings[name] = text
			return true
		}
		return replace(&p.Topology, attribute, text)
	case "workload":
		name, attribute, _ := strings.Cut(attribute, ".")
		at := slices.IndexFunc(p.Workloads, func(w Workload) bool { return w.Name == name })
		return at >= 0 && replace(&p.Workloads[at], attribute, text)
	case "target":
		return p.setTarget(attribute, text)
	case "attack":
		return true
	case "observe":
		return p.Observe != nil && replace(p.Observe, attribute, text)
	}
	return false
}

// setKind replaces the kind of the topology. text is in the syntax of sweeps: "single()" or
// "raft(3)".
func (p *Point) setKind(text string) bool {
	settings := map[string]string{}
	setSwept(settings, Value{Path: kindPath, Text: text})
	p.Topology.Kind, p.Topology.Nodes = settings[kindPath], 0
	if p.Topology.Kind != Raft {
		p.Topology.Coalesce = nil
		return true
	}
	return replace(&p.Topology, "nodes", settings[nodesPath])
}

// replace sets an attribute, by its JSON name, and reports whether text is a valid value for it.
// The name of an attribute in an inner block begins with the block's name: "hosts.round_trip".
func replace(of any, attribute, text string) bool {
	value := []byte(text)
	if !json.Valid(value) {
		value, _ = json.Marshal(text) // any string can be written
	}
	names := strings.Split(attribute, ".")
	slices.Reverse(names)
	for _, name := range names {
		var err error
		if value, err = json.Marshal(map[string]json.RawMessage{name: value}); err != nil {
			return false
		}
	}
	return json.Unmarshal(value, of) == nil
}
