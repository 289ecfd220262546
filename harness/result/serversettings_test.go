package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSettingsOfBothSides(t *testing.T) {
	base := []ServerSettings{
		{Node: "n1", Settings: []ServerSetting{{"memory", "1GiB", "default"}, {"shards", "2", "flag"}, {"old", "", "default"}, {"log", "info", "default"}}},
		{Node: "n2", Settings: []ServerSetting{{"memory", "2GiB", "flag"}}},
	}
	change := []ServerSettings{{Node: "n1", Settings: []ServerSetting{{"new", "on", "default"}, {"log", "info", "default"}, {"shards", "2", "flag"}, {"memory", "2GiB", "default"}}}}
	all := BesideSettings(base, change)
	assert.Equal(t, []SidesSetting{
		{"memory", "1GiB", "2GiB", "default", "default", ""},
		{"shards", "2", "2", "flag", "flag", ""},
		{"old", "", "", "default", "", "base"},
		{"log", "info", "info", "default", "default", ""},
		{"new", "", "on", "", "default", "change"},
	}, all)
	for i, want := range []struct{ differs, isDefault bool }{{differs: true}, {}, {}, {isDefault: true}, {}} {
		s := all[i]
		assert.Equal(t, want.differs, s.Differs(), s.Name)
		assert.Equal(t, want.isDefault, s.IsDefault(), s.Name)
	}
	assert.Nil(t, BesideSettings(base, nil), "not recorded")
	assert.Nil(t, BesideSettings(nil, change))
}
