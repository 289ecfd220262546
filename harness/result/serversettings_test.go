package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettingsOfBothSides(t *testing.T) {
	base := []ServerSettings{
		{Node: "n1", Settings: []ServerSetting{{"memory", "1GiB", "default"}, {"shards", "2", "flag"}, {"old", "", "default"}, {"log", "info", "default"}}},
		{Node: "n2", Settings: []ServerSetting{{"memory", "2GiB", "flag"}}},
	}
	change := []ServerSettings{{Node: "n1", Settings: []ServerSetting{{"new", "on", "default"}, {"log", "info", "default"}, {"shards", "2", "flag"}, {"memory", "2GiB", "default"}}}}
	all := BesideSettings(base, change)
	assert.Equal(t, []SidesSetting{
		{"memory", "", "1GiB", "2GiB", "default", "default", ""},
		{"shards", "", "2", "2", "flag", "flag", ""},
		{"old", "", "", "", "default", "", "base"},
		{"log", "", "info", "info", "default", "default", ""},
		{"new", "", "", "on", "", "default", "change"},
	}, all)
	for i, want := range []struct{ differs, isDefault bool }{{differs: true}, {}, {}, {isDefault: true}, {}} {
		s := all[i]
		assert.Equal(t, want.differs, s.Differs(), s.Name)
		assert.Equal(t, want.isDefault, s.IsDefault(), s.Name)
	}
	for _, c := range []struct {
		base, change, baseOrigin, changeOrigin string
		ofBuilds                               bool
	}{
		{"1", "2", "default", "default", true},
		{"1", "2", "runtime", "runtime", true},
		{"1", "1", "default", "default", false},
		{"1", "2", "default", "flag", false},
		{"1", "2", "environment", "default", false},
		{"1", "2", "file", "file", false},
		{"1", "2", "", "", false},
	} {
		s := SidesSetting{Base: c.base, Change: c.change, BaseOrigin: c.baseOrigin, ChangeOrigin: c.changeOrigin}
		assert.Equal(t, c.ofBuilds, s.OfBuilds(), "%+v", c)
		s.Only = "base"
		assert.False(t, s.OfBuilds(), "the other build lacks the setting")
	}
	all = BesideSettings(base, append(change,
		ServerSettings{Node: "n3", Settings: []ServerSetting{{"log", "debug", "flag"}}},
		ServerSettings{Point: 1, Node: "n2", Settings: []ServerSetting{{"log", "debug", "flag"}}},
		ServerSettings{Node: "n2", Settings: []ServerSetting{{"shards", "4", "flag"}, {"extra", "1", "flag"}}},
	))
	require.Len(t, all, 8)
	assert.Equal(t, []SidesSetting{
		{"memory", "n2", "2GiB", "2GiB", "flag", "default", ""},
		{"shards", "n2", "2", "4", "flag", "flag", ""},
		{"extra", "n2", "", "1", "", "flag", "change"},
	}, all[5:], "the others equal those of the first server, or only one side has the server")
	assert.Equal(t, "memory", all[0].Label())
	assert.Equal(t, "shards of n2", all[6].Label())
	point := []ServerSettings{{Settings: []ServerSetting{{"shards", "2", "flag"}}}, {Point: 1, Settings: []ServerSetting{{"shards", "4", "flag"}}}}
	all = BesideSettings(point, point)
	require.Len(t, all, 2)
	assert.Equal(t, "shards of point 1", all[1].Label())

	assert.Nil(t, BesideSettings(base, nil), "not recorded")
	assert.Nil(t, BesideSettings(nil, change))
}
