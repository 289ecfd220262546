package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/result"
)

// attached is a server that was running before the topology was started. For the harness it ends
// when the harness releases it.
type attached struct {
	once  sync.Once
	freed chan struct{}
}

func newAttached() *attached { return &attached{freed: make(chan struct{})} }

var errNotStarted = errors.New("the harness did not start the server and cannot signal it: let the harness start it by SSH")

func (a *attached) free() { a.once.Do(func() { close(a.freed) }) }

func (a *attached) Done() <-chan struct{} { return a.freed }

// Signal releases the server if the signal is SIGTERM.
func (a *attached) Signal(sig os.Signal) error {
	switch sig {
	case syscall.SIGTERM:
		a.free()
		return nil
	case syscall.SIGCONT:
		return nil
	}
	return errNotStarted
}

// Kill releases the server, which continues to run.
func (a *attached) Kill() error {
	a.free()
	return nil
}

func (*attached) Status() string     { return "attached" }
func (*attached) Orderly() bool      { return true }
func (*attached) Err() error         { return nil }
func (*attached) CPU() time.Duration { return 0 }

// settingsBytesMax is larger than a server's answer about its settings, its status or its cluster.
const settingsBytesMax = 1 << 20

// introduce reads the settings of an attached server and compares them with the scenario. If done
// is false, the caller may retry.
func (s *Server) introduce(ctx context.Context, n *Node) (done bool, err error) {
	admin := s.cluster.Client(n.Admin)
	var page struct {
		Settings []result.ServerSetting `json:"settings"`
	}
	err = ask(ctx, admin, "/settings", &page)
	var status adminhttp.StatusError
	switch {
	case errors.As(err, &status) && status.Code == http.StatusNotFound:
		return true, s.problem("it does not publish its settings, so its durability is unknown: use a newer server")
	case errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		return true, s.problem(fmt.Sprintf("it requires the access token of an operator: set topology.token_file to a file with one: %v", err))
	case err != nil:
		return false, err
	}
	t := s.cluster.config.Topology
	for name, want := range map[string]string{"durability": t.Durability, "shards": strconv.Itoa(t.Shards)} {
		if err := s.agrees(page.Settings, name, want); err != nil {
			return true, err
		}
	}
	if done, err := s.checkMembers(ctx, admin); err != nil {
		return done, err
	}
	n.settings = withoutPlaces(page.Settings)
	s.remote.host = result.ServerHost{Node: s.remote.at.Name, From: result.HostFromServer}
	return true, nil
}

func (s *Server) agrees(settings []result.ServerSetting, name, want string) error {
	for _, setting := range settings {
		switch {
		case setting.Name != name:
			continue
		case setting.Value == want:
			return nil
		}
		return s.problem(fmt.Sprintf("it runs with %s %s (%s), the scenario expects %s: correct the scenario, or start the server with --%s %s",
			name, setting.Value, setting.Origin, want, name, want))
	}
	return s.problem("it does not publish its " + name + ": use a newer server")
}

// checkMembers returns an error if the nodes in the scenario are not the nodes of the server's
// cluster. If done is false, the caller may retry.
func (s *Server) checkMembers(ctx context.Context, admin adminhttp.Client) (done bool, err error) {
	var cluster struct {
		Node    string `json:"node"`
		Members []struct {
			Node string `json:"node"`
		} `json:"members"`
	}
	if err := ask(ctx, admin, "/v1/cluster", &cluster); err != nil {
		return !unanswered(err), s.problem(err.Error())
	}
	var members []string
	for _, m := range cluster.Members {
		members = append(members, m.Node)
	}
	named := s.cluster.config.Topology.NodeNames()
	switch {
	case cluster.Node != s.ID && s.ID != "":
		return true, s.problem(fmt.Sprintf("the server at %s is node %q: give each node of the scenario its name in the cluster", admin.Address, cluster.Node))
	case len(members) > 1 && len(members) != max(1, len(named)):
		return true, s.problem(fmt.Sprintf("its cluster has the nodes %q, the scenario names %d: name all of them", members, max(1, len(named))))
	}
	return true, nil
}

// describe adds data from the server's status page to the description of the server's host. If done
// is false, the caller may retry.
func (s *Server) describe(ctx context.Context, n *Node) (done bool, err error) {
	var status struct {
		Version string `json:"version"`
		Build   struct {
			Commit   string `json:"commit"`
			Modified bool   `json:"modified"`
		} `json:"build"`
	}
	if err := ask(ctx, s.cluster.Client(n.Admin), "/v1/status", &status); err != nil {
		return !unanswered(err), s.problem(err.Error())
	}
	h := &s.remote.host
	h.Version, h.Commit, h.Dirty = status.Version, status.Build.Commit, status.Build.Modified || status.Build.Commit == ""
	for _, setting := range n.settings {
		if setting.Name == "runtime.gomaxprocs" {
			h.GOMAXPROCS, _ = strconv.Atoi(setting.Value) // 0 means unknown
		}
	}
	h.NoteUnknown()
	return true, nil
}

// unanswered reports whether a request failed because no answer arrived in time. In that case the
// server or its host is busy, and may answer the next request.
func unanswered(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded)
}

func ask(ctx context.Context, admin adminhttp.Client, path string, into any) error {
	body, err := admin.Get(ctx, path, requestTimeout, settingsBytesMax)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s of %s: %w: %.200q", path, admin.Address, err, body)
	}
	return nil
}
