package result

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// HostDifference is a property in which the hosts of two runs differ.
type HostDifference struct {
	Name   string `json:"name"` // as in Host or, with " of NODE", as in ServerHost
	Base   string `json:"base"` // "" if unknown
	Change string `json:"change"`
}

var (
	// ofRun matches properties that differ between runs on one host.
	ofRun = regexp.MustCompile("^(fsync_ms|thread_hop_us|pressure_cpu|load)")
	// ofServer matches properties of a ServerHost that do not describe a host.
	ofServer = regexp.MustCompile("^(node|from|version|commit|dirty|unknown)$")
)

// HostDifferences returns the properties in which the hosts of the generators and the servers of
// two runs differ, by name. It returns nil if they differ only in what was measured before the
// first round: this also differs between runs on one host.
func HostDifferences(base, change Manifest) (all []HostDifference) {
	a, b := hostProperties(base), hostProperties(change)
	names := maps.Clone(a)
	maps.Copy(names, b)
	differ := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			all = append(all, HostDifference{name, a[name], b[name]})
			differ = differ || !ofRun.MatchString(name)
		}
	}
	if !differ {
		return nil
	}
	return all
}

// hostProperties returns the known properties by their names in JSON.
func hostProperties(m Manifest) map[string]string {
	all := map[string]string{}
	add := func(host reflect.Value, suffix string) {
		for i := range host.NumField() {
			name, _, _ := strings.Cut(host.Type().Field(i).Tag.Get("json"), ",")
			if f := host.Field(i); !f.IsZero() && (suffix == "" || !ofServer.MatchString(name)) {
				all[name+suffix] = fmt.Sprint(reflect.Indirect(f))
			}
		}
	}
	add(reflect.ValueOf(m.Host), "")
	for _, h := range m.Hosts {
		add(reflect.ValueOf(h), " of "+h.Node)
	}
	return all
}
