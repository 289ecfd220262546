package result

// The origins of settings that were not set by a person.
const (
	// DefaultOrigin is that of a setting that has its default.
	DefaultOrigin = "default"
	// RuntimeOrigin is that of a limit which the process chose or calculated when it started.
	RuntimeOrigin = "runtime"
)

// SidesSetting is a setting of the servers of both sides of a comparison.
type SidesSetting struct {
	Name         string `json:"name"`
	Base         string `json:"base"`
	Change       string `json:"change"`
	BaseOrigin   string `json:"base_origin"` // as that of a ServerSetting
	ChangeOrigin string `json:"change_origin"`
	// Only is "base" or "change" if only that side's servers have the setting, because the other side's build does not know it.
	Only string `json:"only,omitempty"`
}

// Differs reports whether both sides' servers have the setting, with other values.
func (s SidesSetting) Differs() bool { return s.Only == "" && s.Base != s.Change }

// OfBuilds reports whether the values differ although neither side was given one: the builds have different defaults, or their processes
// chose other limits. Between servers that were started alike on one host this is a part of the change.
func (s SidesSetting) OfBuilds() bool {
	return s.Differs() && !given(s.BaseOrigin) && !given(s.ChangeOrigin)
}

func given(origin string) bool { return origin != DefaultOrigin && origin != RuntimeOrigin }

// IsDefault reports whether the setting has the same default on both sides.
func (s SidesSetting) IsDefault() bool {
	return s.BaseOrigin == DefaultOrigin && s.ChangeOrigin == DefaultOrigin && s.Base == s.Change
}

// BesideSettings puts the settings of base and change beside each other: those of the first server of each, in the order of the base, and
// then those that only the change has. It returns nil if a side did not record its settings.
func BesideSettings(base, change []ServerSettings) (all []SidesSetting) {
	if len(base) == 0 || len(change) == 0 {
		return nil
	}
	at := map[string]int{}
	for _, s := range base[0].Settings {
		at[s.Name] = len(all)
		all = append(all, SidesSetting{Name: s.Name, Base: s.Value, BaseOrigin: s.Origin, Only: "base"})
	}
	for _, s := range change[0].Settings {
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
