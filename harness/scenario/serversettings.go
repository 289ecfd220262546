package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ServerSettingCheck checks the name and value of a setting of the server, which this package does
// not know. It returns a problem and its remedy, or "" for message if the setting is valid.
type ServerSettingCheck func(name, value string) (message, remedy string)

var settingsBlock = hclfile.Inner{
	Names: hclfile.Names{Any: true}, Example: `settings { storage { memtable_size = "8MiB" } }`, Once: true,
}

// settingsPrefix begins the name of the topology's attribute that a sweep of a server setting
// replaces: "settings.storage.memtable_size".
const settingsPrefix = "settings."

// settingTextMax bounds the value of a setting, in bytes.
const settingTextMax = 200

// ownedSettings are the settings of the server that a scenario defines in another way or that Prony
// chooses. Each maps to the remedy for its use in a settings block.
var ownedSettings = map[string]string{
	"durability":       "write durability in the topology",
	"sync_interval":    "write sync_interval in the topology",
	"shards":           "write shards in the topology",
	"busy_poll":        "write busy_poll in the topology",
	"cluster.coalesce": "write coalesce in the topology",
	"listen":           "write listen in the topology",
	"tls.cert":         "write tls = true in the topology",
	"tls.key":          "write tls = true in the topology",
	"http":             chosenByProny, "admin": chosenByProny, "address_file": chosenByProny, "data": chosenByProny, "tls.client_ca": chosenByProny,
	"insecure": chosenByProny, "auth": chosenByProny, "new_admin_token": chosenByProny,
	"cluster.node": chosenByProny, "cluster.listen": chosenByProny, "cluster.advertise": chosenByProny, "cluster.peers": chosenByProny,
	"cluster.join": chosenByProny, "cluster.certs": chosenByProny,
}

const chosenByProny = "remove it: Prony chooses it at each start of the servers"

func ownedProblem(name string) string { return name + " cannot be written in settings" }

// OwnedSettings returns the names of the settings that a settings block must not contain, sorted.
func OwnedSettings() []string { return slices.Sorted(maps.Keys(ownedSettings)) }

// readServerSettings reads settings { NAME = VALUE BLOCK { NAME = VALUE } }, which has the syntax
// of the server's configuration file, and the values of sweeps. It returns the settings by name, or
// nil without any settings. check may be nil.
func readServerSettings(b *hclfile.Block, t Topology, check ServerSettingCheck) map[string]string {
	r := serverSettings{topology: t, check: check, found: map[string]string{}}
	for _, s := range b.Blocks("settings", settingsBlock) {
		for _, name := range s.Attributes() {
			r.read(s, name, name)
		}
		for _, kind := range s.Kinds() {
			example := hclfile.Inner{Names: settingsBlock.Names, Example: kind + " { NAME = VALUE }", Once: true}
			for _, inner := range s.Blocks(kind, example) {
				if deep := inner.Kinds(); len(deep) > 0 {
					inner.Problem(fmt.Sprintf("%s in settings contains a block %s: settings are at most one block deep", inner, deep[0]), "write "+settingsBlock.Example)
				}
				for _, name := range inner.Attributes() {
					r.read(inner, name, kind+"."+name)
				}
			}
		}
	}
	for _, attribute := range b.Attributes() { // of sweeps
		if name, swept := strings.CutPrefix(attribute, settingsPrefix); swept {
			r.read(b, attribute, name)
		}
	}
	if len(r.found) == 0 {
		return nil
	}
	return r.found
}

type serverSettings struct {
	topology Topology
	check    ServerSettingCheck
	found    map[string]string
}

// read reads the setting called name from an attribute of b.
func (r *serverSettings) read(b *hclfile.Block, attribute, name string) {
	if remedy, owned := ownedSettings[name]; owned {
		b.AttrProblem(attribute, ownedProblem(name), remedy)
		return
	}
	switch clustered := r.topology.Kind == Raft; {
	case r.topology.Kind == "": // the kind is unknown
	case clustered && name == "commit.group":
		b.AttrProblem(attribute, `the setting commit.group is not valid in topology "raft"`, "write coalesce in the topology")
		return
	case !clustered && strings.HasPrefix(name, "cluster."):
		b.AttrProblem(attribute, fmt.Sprintf(`the setting %s is valid only in topology "raft"`, name), `write topology "raft", or remove it`)
		return
	}
	value, ok := b.PlainText(attribute, name)
	switch {
	case !ok:
		return
	case len(value) > settingTextMax:
		b.AttrProblem(attribute, fmt.Sprintf("the setting %s has %d bytes; the maximum is %d", name, len(value), settingTextMax), "")
		return
	case r.check != nil:
		if message, remedy := r.check(name, value); message != "" {
			b.AttrProblem(attribute, message, remedy)
			return
		}
	}
	r.found[name] = value
}

func refuseServerSettings(b *hclfile.Block, why string) {
	message := "settings is not valid here: " + why
	if b.HasBlock("settings") {
		b.Problem(message, "remove it")
	}
	for _, attribute := range b.Attributes() {
		if strings.HasPrefix(attribute, settingsPrefix) {
			b.AttrProblem(attribute, message, "remove the sweep")
		}
	}
}

// ServerSettings returns the settings of the server in t, sorted by name, each as "NAME = VALUE".
func (t Topology) ServerSettings() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
		all = append(all, name+" = "+t.Settings[name])
	}
	return all
}
