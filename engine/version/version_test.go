package version

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// stamped returns build information as the go command records it: the module's version, and pairs
// of settings.
func stamped(version string, pairs ...string) *debug.BuildInfo {
	info := &debug.BuildInfo{Main: debug.Module{Version: version}}
	for i := 0; i < len(pairs); i += 2 {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
	}
	return info
}

func TestWhatAProgramWasBuiltFrom(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		info    *debug.BuildInfo
		release string
		want    Info
		line    string
		dirty   string // in words
	}{
		"a checkout": {
			stamped("(devel)", "vcs", "git", "vcs.revision", commit, "vcs.modified", "false"), "",
			Info{Version: "(devel)", Commit: commit, Dirty: &no},
			"(devel) (0123456789ab)", "no",
		},
		"a changed checkout": {
			stamped("(devel)", "vcs.revision", commit, "vcs.modified", "true"), "",
			Info{Version: "(devel)", Commit: commit, Dirty: &yes},
			"(devel) (0123456789ab, changed)", "yes",
		},
		"without version control": {stamped("(devel)"), "", Info{Version: "(devel)"}, "(devel)", "unknown"},
		"go install":              {stamped("v1.2.3"), "", Info{Version: "v1.2.3"}, "v1.2.3", "unknown"},
		"go install of a commit":  {stamped("v0.0.0-20261125000000-0123456789ab", "vcs.revision", commit), "", Info{Version: "v0.0.0-20261125000000-0123456789ab", Commit: commit}, "v0.0.0-20261125000000-0123456789ab", "unknown"},
		"a released binary":       {stamped("(devel)", "vcs.revision", commit, "vcs.modified", "false"), "v1.2.3", Info{Version: "v1.2.3", Commit: commit, Dirty: &no}, "v1.2.3 (0123456789ab)", "no"},
		"no build information":    {&debug.BuildInfo{}, "", Info{Version: "unknown"}, "unknown", "unknown"},
		"a short commit":          {stamped("(devel)", "vcs.revision", "0123"), "", Info{Version: "(devel)", Commit: "0123"}, "(devel) (0123)", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Go, c.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			got := of(c.info, c.release)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.line, got.String())
			shown := c.want.Commit
			if shown == "" {
				shown = "unknown"
			}
			assert.Equal(t, [][2]string{{"version", c.want.Version}, {"commit", shown}, {"dirty", c.dirty}, {"go", c.want.Go}, {"platform", c.want.Platform}}, got.Rows())
		})
	}
}
