package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/storage"
)

// load loads the text of a file ("" for no file), variables and flags.
func load(t *testing.T, file string, env []string, args ...string) (*Loaded, error) {
	t.Helper()
	l := NewLoader()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	l.AddFlags(flags)
	if file != "" {
		t.Chdir(t.TempDir())
		require.NoError(t, os.WriteFile("q.hcl", []byte(file), 0o600))
		args = append([]string{"--config", "q.hcl"}, args...)
	}
	require.NoError(t, flags.Parse(args))
	return l.Load(env, []string{"QUEUED_TOKEN"})
}

func problems(t *testing.T, err error) []string {
	t.Helper()
	var p *Problems
	require.ErrorAs(t, err, &p)
	return strings.Split(p.Error(), "\n")
}

func effective(t *testing.T, l *Loaded, path string) Effective {
	t.Helper()
	i := slices.IndexFunc(l.Settings, func(e Effective) bool { return e.Path == path })
	require.GreaterOrEqual(t, i, 0, path)
	return l.Settings[i]
}

func TestNothingSaidMeansTheDefaults(t *testing.T) {
	l, err := load(t, "", nil)
	require.NoError(t, err)
	assert.Equal(t, Default(), l.Config)
	for _, e := range l.Settings {
		assert.Equal(t, FromDefault, e.Origin, e.Path)
		assert.Empty(t, e.At)
	}
	assert.Empty(t, l.Warnings)
}

// samples returns good values of a setting for the file, the environment and the flag. They differ
// from each other and from the default.
func samples(s *Setting) (file, env, flag, fileText string) {
	quote := func(text string) string { return `"` + text + `"` }
	switch s.value.kind {
	case kindBool:
		return "true", "false", "true", "true"
	case kindNumber:
		if s.Path == "queue.backoff_multiplier_percent" {
			return "102", "103", "104", "102"
		}
		return "2", "3", "4", "2"
	case kindDuration:
		return "2s", "3s", "4s", quote("2s")
	case kindSize:
		if strings.HasSuffix(s.Path, "_size") {
			return "2MiB", "3MiB", "4MiB", quote("2MiB")
		}
		return "2KiB", "3KiB", "4KiB", quote("2KiB")
	case kindSpace:
		return "2%", "3GiB", "4%", quote("2%")
	case kindMemory:
		return "200MiB", "25%", "2GiB", quote("200MiB")
	case kindList:
		return "127.0.0.1:2,127.0.0.1:20", "127.0.0.1:3", "127.0.0.1:4", `["127.0.0.1:2", "127.0.0.1:20"]`
	case kindMap:
		return "n1=a:2,n2=b:20", "n1=a:3", "n1=a:4", `{ n2 = "b:20", "n1" = "a:2" }`
	case kindChoice:
		c := s.Choices()
		return c[len(c)-1], c[0], c[len(c)-1], quote(c[len(c)-1])
	case kindText:
	}
	if s.Path == "http" || s.Path == "admin" {
		return "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", quote("127.0.0.1:2")
	}
	return "two", "three", "four", quote("two")
}

// asFile returns a file with one setting.
func asFile(path, text string) string {
	if block, attribute, inner := strings.Cut(path, "."); inner {
		return block + " {\n  " + attribute + " = " + text + "\n}\n"
	}
	return path + " = " + text + "\n"
}

// For every setting, a flag takes precedence over the environment, and the environment over the
// file.
func TestPrecedence(t *testing.T) {
	for _, s := range NewLoader().Settings() {
		t.Run(s.Path, func(t *testing.T) {
			inFile, inEnv, inFlag, fileText := samples(s)
			file, env, args := asFile(s.Path, fileText), []string{s.Env() + "=" + inEnv}, []string{"--" + s.Flag() + "=" + inFlag}
			if s.NotInFile {
				file = ""
			}
			// Settings that this one depends on are not set: values are read before dependencies
			// are checked.
			value := func(file string, env []string, args ...string) (string, Origin) {
				l := NewLoader()
				flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
				l.AddFlags(flags)
				if file != "" {
					path := filepath.Join(t.TempDir(), "q.hcl")
					require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
					args = append(args, "--config", path)
				}
				require.NoError(t, flags.Parse(args))
				loaded, err := l.load(env, nil)
				require.NoError(t, err)
				e := effective(t, loaded, s.Path)
				return e.Value(), e.Origin
			}
			if file != "" {
				got, origin := value(file, nil)
				assert.Equal(t, inFile, got)
				assert.Equal(t, FromFile, origin)
			}
			got, origin := value(file, env)
			assert.Equal(t, inEnv, got)
			assert.Equal(t, FromEnvironment, origin)
			got, origin = value(file, env, args...)
			assert.Equal(t, inFlag, got)
			assert.Equal(t, FromFlag, origin)
			got, origin = value(file, nil, args...)
			assert.Equal(t, inFlag, got)
			assert.Equal(t, FromFlag, origin)
		})
	}
}

func TestValuesReachTheConfiguration(t *testing.T) {
	l, err := load(t, `
listen        = ["127.0.0.1:1", "unix:/run/q"]
durability    = "interval"
sync_interval = "20ms"
auth          = "off"

queue {
  lease        = "1m"
  max_attempts = 3
}
limits {
  payload_max = "64KiB"
  lease_max   = "2d"
}
log {
  level  = "warn"
  format = "json"
}
`, []string{"QUEUED_SHARDS=4", "QUEUED_HTTP=", "HOME=/x"}, "--admin", "localhost:2", "--insecure")
	require.NoError(t, err)
	n := l.Config.Node
	assert.Equal(t, []string{"127.0.0.1:1", "unix:/run/q"}, n.Listen)
	assert.Equal(t, storage.Interval, n.Durability)
	assert.Equal(t, 20*time.Millisecond, n.SyncInterval)
	assert.False(t, n.Auth)
	assert.True(t, n.Insecure)
	assert.Equal(t, 4, n.Shards)
	assert.Empty(t, n.HTTP, "an empty variable counts as a value")
	assert.Equal(t, "localhost:2", n.Admin)
	assert.EqualValues(t, 60_000, n.Queue.LeaseMs)
	assert.EqualValues(t, 3, n.Queue.MaxAttempts)
	assert.Equal(t, 64<<10, n.Limits.PayloadBytesMax)
	assert.EqualValues(t, 2*24*3600_000, n.Limits.LeaseMsMax)
	assert.Equal(t, slog.LevelWarn, l.Config.LogLevel)
	assert.Equal(t, LogJSON, l.Config.LogFormat)
	assert.Equal(t, "q.hcl:8:3", effective(t, l, "queue.lease").At)
	assert.Equal(t, "QUEUED_SHARDS", effective(t, l, "shards").At)
	assert.Equal(t, "--admin", effective(t, l, "admin").At)
}

func TestACluster(t *testing.T) {
	l, err := load(t, `
cluster {
  node             = "n1"
  listen           = "127.0.0.1:0"
  advertise        = "n1.example:7073"
  peers            = { n1 = "127.0.0.1:1", n-2 = "127.0.0.1:2", "3" = "[::1]:3" }
  join             = "127.0.0.1:4,127.0.0.1:5"
  certs            = "/etc/queued/n1"
  election_timeout = "300ms"
  clock_skew_max   = "0s"
}
`, nil)
	require.NoError(t, err)
	assert.Equal(t, cluster.Config{
		Node: "n1", Listen: "127.0.0.1:0", Advertise: "n1.example:7073",
		Peers: map[string]string{"n1": "127.0.0.1:1", "n-2": "127.0.0.1:2", "3": "[::1]:3"}, Join: []string{"127.0.0.1:4", "127.0.0.1:5"},
		CertsDir: "/etc/queued/n1", ElectionTimeout: 300 * time.Millisecond, AppendEntriesMax: 128, MessagesInFlight: 4,
	}, l.Config.Node.Cluster)
	assert.Equal(t, "3=[::1]:3,n-2=127.0.0.1:2,n1=127.0.0.1:1", effective(t, l, "cluster.peers").Value())

	// A repeated flag adds to a map. An empty value takes precedence over a value of a source with
	// lower precedence.
	file := "cluster {\n node = \"n1\"\n certs = \"c\"\n peers = \"n1=a:1\"\n join = [\"b:1\"]\n}\n"
	l, err = load(t, file, []string{"QUEUED_CLUSTER_JOIN="}, "--cluster-peers", "n2=b:2, n1=a:1", "--cluster-peers", "n3=c:3")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"n1": "a:1", "n2": "b:2", "n3": "c:3"}, l.Config.Node.Cluster.Peers)
	assert.Empty(t, l.Config.Node.Cluster.Join)
	l, err = load(t, file, []string{"QUEUED_CLUSTER_PEERS="})
	require.NoError(t, err)
	assert.Empty(t, l.Config.Node.Cluster.Peers)
	assert.Equal(t, []string{"b:1"}, l.Config.Node.Cluster.Join)
}

func TestMapsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"3":                          `q.hcl:2:9: peers in cluster is number: write names with strings, as in { n1 = "127.0.0.1:7073" }`,
		"null":                       `q.hcl:2:9: peers in cluster is dynamic: write names with strings`,
		`["n1=a:1"]`:                 `q.hcl:2:9: peers in cluster is tuple: write names with strings`,
		`{ n1 = 3 }`:                 `q.hcl:2:9: peers in cluster is object: write names with strings`,
		`{ n1 = null }`:              `q.hcl:2:9: peers in cluster is object: write names with strings`,
		`{ n1 = "a:1,n2=b:2" }`:      `q.hcl:2:9: peers in cluster is object: write names with strings`,
		`{ n1 = "a:1", n1 = "b:1" }`: `q.hcl:2:23: peers in cluster has this name twice: keep one of them`,
		`{ n1 = "" }`:                `q.hcl:2:1: peers in cluster "n1=" has the item "n1=": write NAME=VALUE, with a comma between two`,
		`"n1=a:1,"`:                  `has the item "": write NAME=VALUE`,
		`"a:1"`:                      `has the item "a:1": write NAME=VALUE`,
		`"=a:1"`:                     `has the item "=a:1": write NAME=VALUE`,
		`"n1=a:1,n1=b:1"`:            `names n1 twice`,
	} {
		_, err := load(t, "cluster {\npeers = "+text+"\n}\n", nil)
		assert.Contains(t, problems(t, err)[0], want, text)
	}
}

func TestRepeatedFlags(t *testing.T) {
	l, err := load(t, "", nil, "--listen", "127.0.0.1:1,127.0.0.1:2", "--listen", "unix:/s", "--shards", "2", "--shards", "3")
	require.NoError(t, err)
	assert.Equal(t, []string{"127.0.0.1:1", "127.0.0.1:2", "unix:/s"}, l.Config.Node.Listen)
	assert.Equal(t, 3, l.Config.Node.Shards, "the last value counts")
}

func TestTheEnvironmentNamesTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.hcl", []byte("shards = 2"), 0o600))
	require.NoError(t, os.WriteFile("b.hcl", []byte("shards = 3"), 0o600))
	l, err := load(t, "", []string{"QUEUED_CONFIG=a.hcl"})
	require.NoError(t, err)
	assert.Equal(t, 2, l.Config.Node.Shards)
	l, err = load(t, "", []string{"QUEUED_CONFIG=a.hcl"}, "--config", "b.hcl")
	require.NoError(t, err)
	assert.Equal(t, 3, l.Config.Node.Shards)
}

// All problems of all sources are in one report.
func TestAllProblemsInOnePass(t *testing.T) {
	_, err := load(t, `
lisen = "127.0.0.1:1"
shards = "two"
durability = "synch"
tls = "cert.pem"
lease = "30s"
new_admin_token = true
replicas = 3
sync_interval = 10
insecure = "yes"
data = shards
http = null
listen = [1]

queue {
  lease = "30"
  max_atempts = 3
  deeper {
  }
}

limits "x" {
  payload_max = "1GiB"
  batch_max = 1.5
  error_max = 9
}

queu {
}

log {
}

log {
}

admin {
}
`, []string{"QUEUED_SHARDS=0", "QUEUED_AUTH=maybe"}, "--log-level", "wran", "--queue-lease", "never", "--listen", ",")
	assert.Equal(t, []string{
		`q.hcl:2:1: unknown attribute lisen in the file: did you mean listen?`,
		`q.hcl:3:10: shards is string: write a whole number, without quotes`,
		`q.hcl:4:1: durability "synch" is not one of "sync", "interval", "none": did you mean "sync"?`,
		`q.hcl:5:1: unknown attribute tls in the file: tls is a block: write tls { ... } without =`,
		`q.hcl:6:1: unknown attribute lease in the file: did you mean lease in queue?`,
		`q.hcl:7:1: new_admin_token cannot be in the file, where it would take effect at every start: pass --new-admin-token to one start`,
		`q.hcl:8:1: unknown attribute replicas in the file: the attributes here are: listen, http, admin, ui, allowed_hosts, insecure, busy_poll, address_file, data, shards, durability, sync_interval, stall_max, disk_low, disk_critical, auth, memory`,
		`q.hcl:9:17: sync_interval is number: write a string with the unit, as in "30s"`,
		`q.hcl:10:12: insecure is string: write true or false, without quotes`,
		`q.hcl:11:8: Variables not allowed: Variables may not be used here`,
		`q.hcl:12:8: http is dynamic: write a string, in quotes`,
		`q.hcl:13:10: listen is tuple: write a list of strings, as in ["127.0.0.1:7070"]`,
		`q.hcl:16:3: lease in queue "30" has no unit: write "30s" for seconds`,
		`q.hcl:17:3: unknown attribute max_atempts in the block queue: did you mean max_attempts?`,
		`q.hcl:18:3: unknown block deeper in the block queue`,
		`q.hcl:22:8: the block limits takes no name: write limits { ... }`,
		`q.hcl:23:3: payload_max in limits "1GiB" is not from 1B to 12MiB`,
		`q.hcl:24:3: batch_max in limits "1.5" is not a whole number from 1 to 1000`,
		`q.hcl:25:15: error_max in limits is number: write a string with the unit, as in "64KiB"`,
		`q.hcl:28:1: unknown block queu in the file: did you mean queue?`,
		`q.hcl:34:1: the block log is repeated: write everything into the block at q.hcl:31:1`,
		`q.hcl:37:1: unknown block admin in the file: admin is an attribute: write admin = ...`,
		`--listen: "," has an empty item: name at least one, with a comma between two`,
		`QUEUED_SHARDS: "0" is not from 1 to 32`,
		`QUEUED_AUTH: "maybe" is not one of "on", "off"`,
		`--queue-lease: "never" is not a duration: write a number with its unit (ms, s, m, h or d), as in "30s", "1h30m" or "7d"`,
		`--log-level: "wran" is not one of "debug", "info", "warn", "error": did you mean "warn"?`,
	}, problems(t, err))
}

func TestFilesThatAreNone(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("large", make([]byte, fileBytesMax+1), 0o600))
	require.NoError(t, os.WriteFile("binary", []byte("\x00\xff{\x80"), 0o600))
	require.NoError(t, os.WriteFile("deep", []byte("a = "+strings.Repeat("[", fileBytesMax-10)), 0o600))
	require.NoError(t, os.WriteFile("operators", []byte("a = "+strings.Repeat("a?", fileBytesMax/2-10)), 0o600))
	require.NoError(t, os.WriteFile("open", []byte("queue {\n  lease = \"1s\"\n"), 0o600))
	require.NoError(t, os.WriteFile("twice", []byte("shards = 1\nshards = 2\n"), 0o600))
	for path, want := range map[string]string{
		"missing":   "missing: can't be read: no such file or directory",
		".":         ".: is not a regular file: name a file in HCL",
		"large":     "large: is larger than 64KiB: name a configuration file",
		"binary":    "binary:1:1: ",
		"deep":      "deep:1:21: brackets or operators nest too deep: write values out",
		"operators": "operators:1:406: brackets or operators nest too deep: write values out",
		"open":      "open:1:7: Unclosed configuration block",
		"twice":     "twice:2:1: Attribute redefined",
	} {
		_, err := load(t, "", nil, "--config", path)
		assert.Contains(t, problems(t, err)[0], want, path)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, err := load(t, strings.Repeat("nonsense {\n}\n", problemsMax+7), nil)
	lines := problems(t, err)
	assert.Len(t, lines, problemsMax+1)
	assert.Equal(t, "and 7 more problems", lines[problemsMax])
}

// Settings that are valid separately but not together are refused.
func TestTheServersOwnChecks(t *testing.T) {
	_, err := load(t, "listen = \"nowhere\"\n", nil, "--admin", "here", "--http", "")
	lines := problems(t, err)
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], `q.hcl:1:1: listen address "nowhere"`)
	assert.Contains(t, lines[1], `--admin: admin address "here"`)

	_, err = load(t, "", nil, "--queue-backoff-initial", "1h", "--queue-lease", "2d", "--queue-max-attempts", "2000", "--limits-delay-max", "1m")
	assert.Equal(t, []string{
		"--queue-backoff-initial: backoff_initial in queue is above backoff_max in queue (backoff_initial in queue is 1h, from --queue-backoff-initial; backoff_max in queue is 10m, the default): lower --queue-backoff-initial, or raise --queue-backoff-max",
		"--limits-delay-max: backoff_max in queue is above delay_max in limits (backoff_max in queue is 10m, the default; delay_max in limits is 1m, from --limits-delay-max): lower --queue-backoff-max, or raise --limits-delay-max",
		"--queue-lease: lease in queue is above lease_max in limits (lease in queue is 2d, from --queue-lease; lease_max in limits is 1d, the default): lower --queue-lease, or raise --limits-lease-max",
		"--queue-max-attempts: max_attempts in queue is above attempts_max in limits (max_attempts in queue is 2000, from --queue-max-attempts; attempts_max in limits is 1000, the default): lower --queue-max-attempts, or raise --limits-attempts-max",
	}, problems(t, err))
}

func TestMisspeltVariablesAreWarnedOf(t *testing.T) {
	l, err := load(t, "", []string{
		"QUEUED_DURABILTY=none", "QUEUED_TOKEN=x", "QUEUED_SERVICE_HOST=10.0.0.1", "QUEUED_PORT_7070_TCP_ADDR=10.0.0.1", "QUEUE_SHARDS=2", "broken",
	})
	require.NoError(t, err)
	assert.Equal(t, []Problem{{At: "QUEUED_DURABILTY", Message: "there is no such environment variable", Remedy: "did you mean QUEUED_DURABILITY?"}}, l.Warnings)
	assert.Equal(t, storage.Sync, l.Config.Node.Durability)
}

// The names of flags, variables and attributes follow from the path and are unique.
func TestNames(t *testing.T) {
	seen := map[string]bool{FileFlag: true, FileEnv: true}
	for _, s := range NewLoader().Settings() {
		for _, name := range []string{s.Flag(), s.Env()} {
			assert.False(t, seen[name], name)
			seen[name] = true
		}
		assert.Equal(t, s.Env(), EnvPrefix+strings.ToUpper(strings.ReplaceAll(s.Flag(), "-", "_")))
		assert.Contains(t, Groups(), s.Group)
		assert.NotEmpty(t, s.Usage)
		assert.NotContains(t, s.Usage, "|", "a | would break the table")
		if s.Value() != "" {
			assert.NoError(t, s.value.set([]string{s.Value()}), "%s: the default must be a valid value", s.Path)
		}
	}
}

// The README's tables must match Markdown. make golden writes them.
func TestTheREADMEDocumentsEverySetting(t *testing.T) {
	const path, begin, end = "../README.md", "<!-- settings: written by make golden -->\n\n", "<!-- end of settings -->"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if golden.Writing(t) {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+Markdown()+end+after), 0o644))
		return
	}
	assert.Equal(t, Markdown(), was, "run make golden")
}

func FuzzFile(f *testing.F) {
	f.Add("shards = 2\nqueue {\n  lease = \"1m\"\n}\n")
	f.Add("listen = [\"a\", ")
	f.Add("tls \"x\" {\n cert = \"${file}\"\n}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > fileBytesMax {
			return
		}
		path := filepath.Join(t.TempDir(), "q.hcl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		l := NewLoader()
		l.file = path
		loaded, err := l.Load(nil, nil)
		var p *Problems
		if err != nil {
			require.True(t, errors.As(err, &p))
			require.NotEmpty(t, p.List)
			return
		}
		require.NotNil(t, loaded)
	})
}

// A problem of several settings names the source of each value: the flag, the variable, or the file
// and line.
func TestProblemsNameWhereValuesCameFrom(t *testing.T) {
	for _, c := range []struct {
		file  string
		env   []string
		flags []string
		want  string
	}{
		{"", nil, []string{"--disk-low", "1GiB", "--disk-critical", "2GiB"}, "--disk-critical: the critical mark for free disk space is above the low mark (disk_critical is 2GiB, from --disk-critical; disk_low is 1GiB, from --disk-low): lower --disk-critical, or raise --disk-low"},
		{"shards = 1\ndisk_low = \"1GiB\"\n", []string{"QUEUED_DISK_CRITICAL=2GiB"}, nil, "QUEUED_DISK_CRITICAL: the critical mark for free disk space is above the low mark (disk_critical is 2GiB, from QUEUED_DISK_CRITICAL; disk_low is 1GiB, from q.hcl:2:1): lower --disk-critical, or raise --disk-low"},
		{"shards = 1\ndisk_critical = \"2GiB\"\n", nil, []string{"--disk-low=1GiB"}, "q.hcl:2:1: the critical mark for free disk space is above the low mark (disk_critical is 2GiB, from q.hcl:2:1; disk_low is 1GiB, from --disk-low): lower --disk-critical, or raise --disk-low"},
		{"tls {\n  cert = \"c.pem\"\n}\n", nil, nil, "q.hcl:2:3: the TLS certificate c.pem has no key: name its key too with --tls-key"},
		{"", []string{"QUEUED_TLS_KEY=k.pem"}, nil, "QUEUED_TLS_KEY: the TLS key k.pem has no certificate: name its certificate too with --tls-cert"},
		{"", nil, []string{"--listen", ":7070"}, `--listen: listen address ":7070" is not a loopback address, and TLS is off: name a certificate with --tls-cert and --tls-key, listen on 127.0.0.1, [::1] or localhost, or pass --insecure if that is meant`},
		{"", []string{"QUEUED_HTTP=127.0.0.1:99999"}, nil, `QUEUED_HTTP: http address "127.0.0.1:99999" has the port "99999", which does not exist: write a port from 0 to 65535`},
		{"", nil, []string{"--cluster-node", "n1"}, "--cluster-certs: cluster certificates are missing: name the folder that 'queued cluster init' made for node n1 with --cluster-certs"},
	} {
		_, err := load(t, c.file, c.env, c.flags...)
		assert.Equal(t, []string{c.want}, problems(t, err))
	}
}

// Errors at the start of the server are explained in the same way. Errors that do not concern
// settings remain unchanged.
func TestExplain(t *testing.T) {
	l, err := load(t, "shards = 2\n", nil)
	require.NoError(t, err)
	other := errors.New("the disk is full")
	err = l.Explain(errors.Join(setting.Errorf("shards", "start with 1", "the number of shards is 1"), other))
	assert.Equal(t, []string{"q.hcl:1:1: the number of shards is 1: start with 1"}, problems(t, err)[:1])
	require.ErrorIs(t, err, other)
	err = l.Explain(setting.Wrap(errors.New("few files"), "raise it"))
	assert.Equal(t, []string{"this process: few files: raise it"}, problems(t, err))
	assert.Equal(t, other.Error(), l.Explain(other).Error())
	require.NoError(t, l.Explain(nil))
}

// The settings of stores, commits and Raft have the defaults that applied before they were
// configurable.
func TestDefaultsOfStoresCommitsAndRaft(t *testing.T) {
	l, err := load(t, "", nil)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"storage.memtable_size": "auto", "storage.block_cache_size": "auto", "cluster.log_memtable_size": "auto",
		"commit.group": "true", "commit.tasks_max": "512", "commit.bytes_max": "64MiB",
		"cluster.heartbeat_timeout": "auto", "cluster.leader_lease": "auto", "cluster.append_entries_max": "128", "cluster.messages_in_flight": "4",
	} {
		assert.Equal(t, want, effective(t, l, path).Value(), path)
	}
	l, err = load(t, "storage {\n memtable_size = \"auto\"\n}\ncommit {\n group = false\n}\n", []string{"QUEUED_STORAGE_MEMTABLE_SIZE=8MiB"},
		"--storage-block-cache-size", "1GiB", "--commit-tasks-max", "1", "--cluster-leader-lease=auto")
	require.NoError(t, err)
	assert.EqualValues(t, 8<<20, l.Config.Node.Stores.MemTableBytes)
	assert.EqualValues(t, 1<<30, l.Config.Node.Stores.BlockCacheBytes)
	assert.True(t, l.Config.Node.Commit.Alone)
	assert.Equal(t, 1, l.Config.Node.Commit.TasksMax)
}

func TestBadValuesOfStoresCommitsAndRaft(t *testing.T) {
	_, err := load(t, "", nil, "--storage-memtable-size", "1KiB", "--storage-block-cache-size", "big", "--commit-tasks-max", "0", "--commit-bytes-max", "1B",
		"--cluster-heartbeat-timeout", "1ms", "--cluster-append-entries-max", "2000")
	assert.Equal(t, []string{
		`--storage-memtable-size: "1KiB" is not from 512KiB to 1GiB; or "auto"`,
		`--storage-block-cache-size: "big" is not a size: write a whole number with its unit (B, KiB, MiB, GiB or TiB), as in "64KiB"; or "auto"`,
		`--commit-tasks-max: "0" is not from 1 to 16384`,
		`--commit-bytes-max: "1B" is not from 1KiB to 64MiB`,
		`--cluster-heartbeat-timeout: "1ms" is not from 50ms to 1m; or "auto"`,
		`--cluster-append-entries-max: "2000" is not from 1 to 1024`,
	}, problems(t, err))
}

func TestCheckValue(t *testing.T) {
	for _, c := range []struct{ path, text, message, remedy string }{
		{"memory", "1GiB", "", ""},
		{"storage.memtable_size", "auto", "", ""},
		{"storage.memtable_sise", "1MiB", `the server has no setting "storage.memtable_sise"`, "did you mean storage.memtable_size?"},
		{"memtable_size", "1MiB", `the server has no setting "memtable_size"`, "did you mean storage.memtable_size?"},
		{"nonsense", "1", `the server has no setting "nonsense"`, "'queued config show' lists the settings"},
		{"commit.tasks_max", "0", `the setting commit.tasks_max "0" is not from 1 to 16384`, ""},
	} {
		message, remedy := CheckValue(c.path, c.text)
		assert.Equal(t, c.message, message, c.path)
		assert.Equal(t, c.remedy, remedy, c.path)
	}
}
