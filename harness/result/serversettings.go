package result

import (
	"fmt"
	"slices"
	"strings"
)

// Origins of settings without an explicit value.
const (
	// DefaultOrigin is the origin of a setting with its default.
	DefaultOrigin = "default"
	// RuntimeOrigin is the origin of a limit that the process chose or calculated at its start.
	RuntimeOrigin = "runtime"
)

// SidesSetting is a setting of the servers of both sides of a comparison.
type SidesSetting struct {
	Name string `json:"name"`
	// Server is "" for the first server of each side, and otherwise the node, or the point and the
	// node: "n2" or "point 1, n2".
	Server       string `json:"server,omitempty"`
	Base         string `json:"base"`
	Change       string `json:"change"`
	BaseOrigin   string `json:"base_origin"` // see ServerSetting
	ChangeOrigin string `json:"change_origin"`
	// Only is "base" or "change" if only that side's servers have the setting, because the other
	// side's build does not know it.
	Only string `json:"only,omitempty"`
}

// Label returns the name of the setting, followed by the server unless it is the first one.
func (s SidesSetting) Label() string {
	if s.Server == "" {
		return s.Name
	}
	return s.Name + " of " + s.Server
}

// Differs reports whether the servers of both sides have the setting with different values.
func (s SidesSetting) Differs() bool { return s.Only == "" && s.Base != s.Change }

// OfBuilds reports whether the values differ although neither side set one: the builds have
// different defaults, or their processes chose different limits. For servers started identically on
// one host, the difference is part of the change.
func (s SidesSetting) OfBuilds() bool {
	return s.Differs() && !given(s.BaseOrigin) && !given(s.ChangeOrigin)
}

func given(origin string) bool { return origin != DefaultOrigin && origin != RuntimeOrigin }

// IsDefault reports whether the setting has the same default on both sides.
func (s SidesSetting) IsDefault() bool {
	return s.BaseOrigin == DefaultOrigin && s.ChangeOrigin == DefaultOrigin && s.Base == s.Change
}

// BesideSettings pairs the settings of the servers of base and change. The result starts with all
// settings of the first servers, in the order of the base, followed by the settings that only the
// change has. Then it contains, for each further server that exists on both sides, the settings in
// which the server differs from the first server of its side. It returns nil if a side did not
// record its settings.
func BesideSettings(base, change []ServerSettings) (all []SidesSetting) {
	if len(base) == 0 || len(change) == 0 {
		return nil
	}
	all = beside(base[0].Settings, change[0].Settings)
	for _, of := range base[1:] {
		i := slices.IndexFunc(change[1:], of.sameServer)
		if i < 0 {
			continue
		}
		other := change[1+i]
		for _, s := range beside(of.whole(base[0]), other.whole(change[0])) {
			if s.Server = of.Server(fmt.Sprintf("point %d", of.Point)); of.at(s.Name) >= 0 || other.at(s.Name) >= 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

func (s ServerSettings) sameServer(other ServerSettings) bool {
	return s.Point == other.Point && s.Node == other.Node
}

// Server returns the name of the server: the node, after the name of its point if it has one; ""
// for a single server without a point.
func (s ServerSettings) Server(point string) string {
	var parts []string
	if s.Point > 0 {
		parts = append(parts, point)
	}
	if s.Node != "" {
		parts = append(parts, s.Node)
	}
	return strings.Join(parts, ", ")
}

func (s ServerSettings) at(name string) int {
	return slices.IndexFunc(s.Settings, func(of ServerSetting) bool { return of.Name == name })
}

// whole returns all settings of the server s: s.Settings, which contains the settings that differ
// from the first server's, and all other settings from first.
func (s ServerSettings) whole(first ServerSettings) (all []ServerSetting) {
	for _, of := range first.Settings {
		if i := s.at(of.Name); i >= 0 {
			of = s.Settings[i]
		}
		all = append(all, of)
	}
	for _, of := range s.Settings {
		if first.at(of.Name) < 0 {
			all = append(all, of)
		}
	}
	return all
}

func beside(base, change []ServerSetting) (all []SidesSetting) {
	at := map[string]int{}
	for _, s := range base {
		at[s.Name] = len(all)
		all = append(all, SidesSetting{Name: s.Name, Base: s.Value, BaseOrigin: s.Origin, Only: "base"})
	}
	for _, s := range change {
		i, both := at[s.Name]
		if !both {
			i, all = len(all), append(all, SidesSetting{Name: s.Name, Only: "change"})
		} else {
			all[i].Only = ""
		}
		all[i].Change, all[i].ChangeOrigin = s.Value, s.Origin
	}
	return all
}
