package topology

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// runtimeOrigin is the origin of settings that the server's Go runtime chose or read from its
// environment.
const runtimeOrigin = "runtime"

// checkDefaults returns an error if the topology requires default settings and a server has other
// settings.
func (c *Cluster) checkDefaults(context.Context) error {
	if !c.config.Topology.DefaultSettings {
		return nil
	}
	for _, s := range c.servers {
		if err := onlyDefaults(s.Node().Settings(), c.config.Topology); err != nil {
			return s.problem(err.Error())
		}
	}
	return nil
}

// onlyDefaults returns an error unless all settings except places have their default values. The
// defaults of durability and shards must be the values in the topology.
func onlyDefaults(settings []result.ServerSetting, t scenario.Topology) error {
	want := map[string]string{"durability": t.Durability, "shards": strconv.Itoa(t.Shards)}
	for _, s := range withoutPlaces(settings) {
		if s.Origin != result.DefaultOrigin && s.Origin != runtimeOrigin {
			return fmt.Errorf("%s is %q from the %s, but default_settings requires defaults: remove it there", s.Name, s.Value, s.Origin)
		}
		if value, named := want[s.Name]; named {
			if s.Value != value {
				return fmt.Errorf("the default of %s is %q, the scenario expects %q: correct the scenario", s.Name, s.Value, value)
			}
			delete(want, s.Name)
		}
	}
	if len(want) > 0 {
		missing := slices.Sorted(maps.Keys(want))
		return fmt.Errorf("the server does not publish its %s, so the default can't be checked: use a newer server", missing[0])
	}
	return nil
}
