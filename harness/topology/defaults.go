package topology

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// runtimeOrigin is the origin of what the server's Go runtime chose or was told by its environment.
const runtimeOrigin = "runtime"

// checkDefaults fails if the topology is to run with default settings only and a server does not.
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

// onlyDefaults returns an error unless all settings are defaults, places aside, and the defaults are what the topology says.
func onlyDefaults(settings []result.ServerSetting, t scenario.Topology) error {
	want := map[string]string{"durability": t.Durability, "shards": strconv.Itoa(t.Shards)}
	for _, s := range withoutPlaces(settings) {
		if s.Origin != result.DefaultOrigin && s.Origin != runtimeOrigin {
			return fmt.Errorf("%s is %q by its %s, where default_settings asks for defaults only: remove it there", s.Name, s.Value, s.Origin)
		}
		if value, named := want[s.Name]; named {
			if s.Value != value {
				return fmt.Errorf("the default of %s is %q, where the scenario says %q: correct the scenario", s.Name, s.Value, value)
			}
			delete(want, s.Name)
		}
	}
	for name := range want {
		return fmt.Errorf("the server does not say its %s, so that nothing shows that it has the default: use a newer server", name)
	}
	return nil
}
