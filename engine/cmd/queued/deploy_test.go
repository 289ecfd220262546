package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/pronybench/prony/engine/config"
)

const deploy = "../../deploy"

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	require.NoError(t, err)
	return string(text)
}

// understood asserts that the program accepts a command line.
func understood(t *testing.T, args []string) {
	t.Helper()
	found, rest, err := (&app{}).root().Find(args)
	require.NoError(t, err, "%v", args)
	require.False(t, found.HasSubCommands(), "%v names no command", args)
	require.NoError(t, found.ParseFlags(rest), "%v", args)
	require.NoError(t, missing(found), "%v", args)
	require.NoError(t, found.Args(found, found.Flags().Args()), "%v", args)
}

// variables asserts that the program reads each of the given QUEUED_ variables.
func variables(t *testing.T, names []string) {
	t.Helper()
	known := append(clientVariables(), config.FileEnv)
	for _, s := range config.NewLoader().Settings() {
		known = append(known, s.Env())
	}
	for _, name := range names {
		if strings.HasPrefix(name, config.EnvPrefix) {
			assert.Contains(t, known, name)
		}
	}
}

// serves asserts that 'queued serve' accepts an environment.
func serves(t *testing.T, env []string) *config.Loaded {
	t.Helper()
	loaded, err := config.NewLoader().Load(env, clientVariables())
	require.NoError(t, err)
	assert.Empty(t, loaded.Warnings)
	return loaded
}

func TestTheExampleConfigurationIsWell(t *testing.T) {
	s := newShell(t)
	assert.Contains(t, s.ok("config", "check", filepath.Join(deploy, "queued.hcl")), "is valid")
	// Its commented settings are valid too. Once uncommented, only the certificate files are
	// missing.
	text := regexp.MustCompile(`(?m)^# ?((?:tls \{|cluster \{|  \w+ +=|\}).*)$`).ReplaceAllString(deployed(t, "queued.hcl"), "$1")
	require.Contains(t, text, "\ntls {\n")
	require.Contains(t, text, "\ncluster {\n")
	path := filepath.Join(t.TempDir(), "queued.hcl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	s.ok("config", "check", path)
}

func TestTheExampleOfANodeIsWell(t *testing.T) {
	s := newShell(t)
	assert.Contains(t, s.ok("config", "check", filepath.Join(deploy, "queued-cluster.hcl")), "is valid")
	loaded, err := loadFile(filepath.Join(deploy, "queued-cluster.hcl"))
	require.NoError(t, err)
	c := loaded.Config.Node
	require.NoError(t, c.Check())
	assert.False(t, c.Insecure)
	assert.True(t, c.Auth)
	assert.Len(t, c.Cluster.Peers, 3)
	assert.Empty(t, c.Cluster.Join, "the first start makes a cluster")
	// The host has one address, which the other nodes use.
	host, _, err := net.SplitHostPort(c.Cluster.Peers[c.Cluster.Node])
	require.NoError(t, err)
	for _, address := range []string{c.Listen[0], c.HTTP, c.Admin, c.Cluster.Listen} {
		at, _, err := net.SplitHostPort(address)
		require.NoError(t, err)
		assert.Equal(t, host, at)
	}
	assert.Equal(t, c.Cluster.Listen, c.Cluster.Peers[c.Cluster.Node])
	// The unit passes the files that only root may read.
	unit := deployed(t, "queued.service")
	for name, path := range map[string]string{
		c.TLS.KeyFile:                   "/etc/queued/key.pem",
		c.Cluster.CertsDir + "/ca.crt":  "/etc/queued/cluster/ca.crt",
		c.Cluster.CertsDir + "/tls.crt": "/etc/queued/cluster/tls.crt",
		c.Cluster.CertsDir + "/tls.key": "/etc/queued/cluster/tls.key",
	} {
		assert.Equal(t, "/run/credentials/queued.service", filepath.Dir(name))
		assert.Contains(t, unit, "\n#LoadCredential="+filepath.Base(name)+":"+path+"\n")
	}
	// The configuration of a node that joins later.
	text := regexp.MustCompile(`(?m)^  # (join += )`).ReplaceAllString(deployed(t, "queued-cluster.hcl"), "  $1")
	path := filepath.Join(t.TempDir(), "queued.hcl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	loaded, err = loadFile(path)
	require.NoError(t, err)
	require.NoError(t, loaded.Config.Node.Check())
	assert.Len(t, loaded.Config.Node.Cluster.Join, 3)
}

// TestTheReadmeStartsThreeNodes parses the command lines of the README.
func TestTheReadmeStartsThreeNodes(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "### Three nodes by hand\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	peers := regexp.MustCompile(`(?m)^PEERS=(.*)$`).FindStringSubmatch(section)
	require.Len(t, peers, 2)
	serve := regexp.MustCompile(`(?s)bin/queued (serve .*?) &\n`).FindStringSubmatch(section)
	require.Len(t, serve, 2)
	for _, i := range []string{"1", "2", "3"} {
		line := strings.NewReplacer("\\\n", " ", "$PEERS", peers[1], "${i}", i, "$i", i).Replace(serve[1])
		understood(t, strings.Fields(line))
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		loader := config.NewLoader()
		loader.AddFlags(flags)
		require.NoError(t, flags.Parse(strings.Fields(line)[1:]))
		loaded, err := loader.Load(nil, nil)
		require.NoError(t, err)
		c := loaded.Config.Node.Cluster
		assert.Equal(t, "n"+i, c.Node)
		assert.Equal(t, c.Listen, c.Peers[c.Node])
		assert.Len(t, c.Peers, 3)
		assert.Equal(t, "certs/n"+i, c.CertsDir)
	}
	made := regexp.MustCompile(`(?m)^bin/queued (cluster init .*)$`).FindStringSubmatch(section)
	require.Len(t, made, 2)
	understood(t, strings.Fields(strings.ReplaceAll(made[1], "$PEERS", peers[1])))
	status := regexp.MustCompile(`(?m)^bin/queued (cluster status.*)$`).FindStringSubmatch(section)
	require.Len(t, status, 2)
	understood(t, strings.Fields(status[1]))
	for _, v := range regexp.MustCompile(`(QUEUED_\w+)=`).FindAllStringSubmatch(section, -1) {
		variables(t, []string{v[1]})
	}
	// The commands in the table for operators.
	_, section, found = strings.Cut(string(text), "### Operating a cluster\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	commands := regexp.MustCompile("`queued (cluster [a-z]+ [^`]*|backup)`").FindAllStringSubmatch(section, -1)
	require.Greater(t, len(commands), 5)
	for _, c := range commands {
		if args := strings.Fields(c[1]); args[0] == "cluster" && args[len(args)-1] != "--admin-server" {
			understood(t, args)
		}
	}
}

func TestTheUnitCallsTheProgramAsItIs(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^Exec\w+=/usr/local/bin/queued (.*)$`).FindAllStringSubmatch(deployed(t, "queued.service"), -1)
	require.Len(t, lines, 1, "RestartPreventExitStatus applies only to ExecStart")
	understood(t, strings.Fields(lines[0][1]))
	assert.Contains(t, deployed(t, "queued.service"), "RestartPreventExitStatus=2\n")
	assert.Equal(t, 2, exitUsage)
}

func TestTheImageCallsTheProgramAsItIs(t *testing.T) {
	text := strings.ReplaceAll(deployed(t, "Dockerfile"), "\\\n", " ")
	var entry, command, health []string
	var env []string
	last := ""
	for line := range strings.Lines(text) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "ENTRYPOINT":
			require.NoError(t, json.Unmarshal([]byte(rest), &entry))
		case "CMD":
			require.NoError(t, json.Unmarshal([]byte(rest), &command))
		case "HEALTHCHECK":
			_, list, found := strings.Cut(rest, "CMD ")
			require.True(t, found)
			require.NoError(t, json.Unmarshal([]byte(list), &health))
		case "ENV":
			env = append(env, strings.Fields(rest)...)
		case "USER":
			last = rest
		}
	}
	require.Equal(t, []string{"/queued"}, entry)
	understood(t, command)
	require.Equal(t, entry[0], health[0])
	understood(t, health[1:])
	assert.NotContains(t, []string{"", "root", "0"}, last, "it runs as an unprivileged user")
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		variables(t, []string{name})
	}
	loaded := serves(t, env)
	assert.Equal(t, "/data", loaded.Config.Node.DataDir)
	examples := regexp.MustCompile(`-e (QUEUED_\w+)=`).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, examples)
	for _, e := range examples {
		variables(t, []string{e[1]})
	}
}

func TestTheComposeFileIsOfThreeNodes(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Environment map[string]string
			Ports       []string
			Volumes     []string
			Command     []string
		}
		Volumes map[string]any
	}
	require.NoError(t, yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &file))
	init := file.Services["certs"]
	understood(t, init.Command)
	require.Equal(t, []string{"certs:/data"}, init.Volumes)
	require.Equal(t, "/data", init.Command[len(init.Command)-1])
	delete(file.Services, "certs")
	require.Len(t, file.Services, 3)
	var ports, volumes, nodes []string
	for name, s := range file.Services {
		var env []string
		for k, v := range s.Environment {
			env = append(env, k+"="+v)
			variables(t, []string{k})
		}
		loaded := serves(t, env)
		assert.True(t, loaded.Config.Node.Auth, name)
		cluster := &loaded.Config.Node.Cluster
		nodes = append(nodes, cluster.Node)
		assert.Len(t, cluster.Peers, 3)
		assert.Equal(t, name+":7073", cluster.Advertise, "it is the container's name")
		assert.Equal(t, cluster.Advertise, cluster.Peers[cluster.Node])
		assert.Equal(t, name+":7070", cluster.Reach(loaded.Config.Node.Listen[0]))
		assert.FileExists(t, filepath.Join(deploy, s.Build.Context, s.Build.Dockerfile))
		require.Len(t, s.Volumes, 2)
		assert.Equal(t, "certs:/certs:ro", s.Volumes[1])
		assert.Equal(t, "/certs/"+cluster.Node, cluster.CertsDir)
		assert.Contains(t, init.Command[3], cluster.Node+"="+cluster.Advertise)
		volume, at, _ := strings.Cut(s.Volumes[0], ":")
		assert.Equal(t, loaded.Config.Node.DataDir, at)
		assert.Contains(t, file.Volumes, volume)
		volumes = append(volumes, volume)
		for _, p := range s.Ports {
			parts := strings.Split(p, ":")
			require.Len(t, parts, 3, p)
			assert.Equal(t, "127.0.0.1", parts[0], "no other host reaches it")
			assert.Contains(t, append(loaded.Config.Node.Listen, loaded.Config.Node.HTTP, loaded.Config.Node.Admin), ":"+parts[2])
			ports = append(ports, parts[1])
		}
	}
	slices.Sort(nodes)
	assert.Equal(t, []string{"n1", "n2", "n3"}, nodes)
	slices.Sort(ports)
	assert.Len(t, slices.Compact(ports), 9, "no port twice")
	slices.Sort(volumes)
	assert.Len(t, slices.Compact(volumes), 3, "each has separate data")
}
