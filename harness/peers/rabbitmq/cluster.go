package rabbitmq

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
)

// cluster starts the nodes of a launch. Erlang's port mapper is one of the processes, because
// otherwise the first node starts a port mapper that outlives it.
type cluster struct {
	folder, server, ctl, mapper string
	mapperAddress               string
	addresses                   []string // for clients
	distribution                []string // for other nodes
}

func newCluster(spec program.LaunchSpec) (*cluster, error) {
	c := &cluster{folder: spec.Folder}
	for name, path := range map[string]*string{"rabbitmq-server": &c.server, "rabbitmqctl": &c.ctl, "epmd": &c.mapper} {
		found, err := find(name)
		if err != nil {
			return nil, err
		}
		*path = found
	}
	free, err := child.Addresses(1 + 2*spec.Nodes)
	if err != nil {
		return nil, err
	}
	c.mapperAddress, c.addresses, c.distribution = free[0], free[1:1+spec.Nodes], free[1+spec.Nodes:]
	// All nodes share the cookie in their home.
	if err := os.WriteFile(filepath.Join(c.folder, ".erlang.cookie"), []byte("prony"), 0o400); err != nil {
		return nil, fmt.Errorf("write the nodes' cookie: %w", err)
	}
	config := "cluster_formation.peer_discovery_backend = classic_config\ncluster_formation.randomized_startup_delay_range.min = 0\n" +
		"cluster_formation.randomized_startup_delay_range.max = 1\n"
	for i := range c.addresses {
		config += fmt.Sprintf("cluster_formation.classic_config.nodes.%d = %s\n", i+1, c.nodeName(i))
	}
	for name, text := range map[string]string{"rabbitmq.conf": config, "enabled_plugins": "[].\n"} {
		if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the nodes' configuration: %w", err)
		}
	}
	return c, nil
}

func (c *cluster) nodeName(i int) string { return fmt.Sprintf("rabbit%d@localhost", i+1) }

func (c *cluster) environment() []string {
	return []string{"HOME=" + c.folder, "ERL_EPMD_PORT=" + child.Port(c.mapperAddress), "ERL_EPMD_ADDRESS=127.0.0.1", "RABBITMQ_CONF_ENV_FILE=/dev/null"}
}

func (c *cluster) programs() []child.Program {
	programs := []child.Program{{
		Name: "epmd", Helper: true, Command: []string{c.mapper, "-port", child.Port(c.mapperAddress), "-address", "127.0.0.1"},
		Serves: func(ctx context.Context) error { return child.Accepts(ctx, c.mapperAddress) },
	}}
	for i, address := range c.addresses {
		name := fmt.Sprint("rabbit", i+1)
		programs = append(programs, child.Program{
			Name: name, Command: []string{c.server},
			Env: append(c.environment(),
				"RUNNING_UNDER_SYSTEMD=true", // the script then replaces itself by the server
				"RABBITMQ_NODENAME="+c.nodeName(i),
				"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
				"RABBITMQ_NODE_PORT="+child.Port(address),
				"RABBITMQ_DIST_PORT="+child.Port(c.distribution[i]),
				"RABBITMQ_MNESIA_BASE="+filepath.Join(c.folder, name),
				"RABBITMQ_LOG_BASE="+filepath.Join(c.folder, name+"-log"),
				"RABBITMQ_LOGS=-",
				"RABBITMQ_PID_FILE="+filepath.Join(c.folder, name+".pid"),
				"RABBITMQ_CONFIG_FILE="+filepath.Join(c.folder, "rabbitmq.conf"),
				"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(c.folder, "enabled_plugins"),
			),
			Serves: func(context.Context) error {
				connection, err := dial(address)
				if err != nil {
					return err
				}
				return connection.Close()
			},
		})
	}
	return programs
}

// awaitMembers returns when all nodes are members of one cluster.
func (c *cluster) awaitMembers(ctx context.Context) error {
	if len(c.addresses) == 1 {
		return nil
	}
	command := exec.CommandContext(ctx, c.ctl, "--node", c.nodeName(0), "--timeout", "60", "await_online_nodes", fmt.Sprint(len(c.addresses)))
	command.Env = append(os.Environ(), c.environment()...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("wait for the nodes of the cluster: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
