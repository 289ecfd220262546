package topology

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/result"
)

// The test binary acts as the server. These variables define its behaviour and the file for its
// process id.
const (
	helperMode = "PRONY_TOPOLOGY_TEST_MODE"
	helperPID  = "PRONY_TOPOLOGY_TEST_PID"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(helperMode)
	if mode == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if path := os.Getenv(helperPID); path != "" && os.Args[1] == "serve" {
		path += nodeOf(os.Args)
		if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			die(1, "%v", err)
		}
	}
	if slices.Equal(os.Args[1:3], []string{"cluster", "init"}) {
		if mode == "endless init" {
			if err := os.WriteFile(os.Getenv(helperPID), nil, 0o600); err != nil {
				die(1, "%v", err)
			}
			time.Sleep(time.Hour) // until it is killed
		}
		makeCertificates(os.Args[3:])
		return
	}
	actServer(mode)
}

// nodeOf returns the node ID in a command line; "" for a server without a cluster.
func nodeOf(args []string) string {
	if i := slices.Index(args, "--cluster-node"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func die(status int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(status)
}

// actServer behaves like queued, except for the fault that mode selects.
func actServer(mode string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	if mode == "port taken" {
		for i := range 30 {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
		die(1, "listen tcp 127.0.0.1:7700: bind: address already in use")
	}
	if mode == "mute" {
		select {} // never writes its address, and does not end
	}

	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	data := flags.String("data", "", "")
	listen := flags.String("listen", "", "")
	http := flags.String("http", "", "")
	admin := flags.String("admin", "", "")
	busyPoll := flags.Bool("busy-poll", false, "")
	durability := flags.String("durability", "", "")
	interval := flags.Duration("sync-interval", 0, "")
	shards := flags.Int("shards", 0, "")
	addressFile := flags.String("address-file", "", "")
	member := membership{flags: flags}
	member.define()
	if os.Args[1] != "serve" || flags.Parse(os.Args[2:]) != nil || flags.NArg() > 0 {
		die(1, "bad arguments: %q", os.Args)
	}
	member.check()
	fmt.Fprintf(os.Stderr, "durability=%s interval=%s shards=%d busy-poll=%t\n", *durability, *interval, *shards, *busyPoll)
	openStore(*data)

	var clients net.Listener
	var err error
	if path, isUnix := strings.CutPrefix(*listen, "unix:"); isUnix {
		clients, err = net.Listen("unix", path)
	} else {
		clients, err = net.Listen("tcp", *listen)
	}
	if err != nil {
		die(1, "%v", err)
	}
	defer runtime.KeepAlive(clients) // or the garbage collector would close it
	at := addresses{PID: os.Getpid(), Listen: []string{*listen}, HTTP: *http, Admin: serveAdmin(mode, *admin)}
	at.Settings = []result.ServerSetting{{Name: "data", Value: *data, Origin: "flag"}, {Name: "busy_poll", Value: "true", Origin: "flag"}}
	if member.node != "" {
		member.serve(mode, *http, *shards)
		at.TokenFile = filepath.Join(*data, "admin.token")
		if secret := member.secret(mode); secret != "" {
			if err := os.WriteFile(at.TokenFile, []byte(secret+"\n"), 0o600); err != nil {
				die(1, "%v", err)
			}
		}
	}
	if clients.Addr().Network() == "tcp" {
		at.Listen[0] = clients.Addr().String()
	}
	switch mode {
	case "other process":
		at.PID++
	case "no address":
		at.Listen = nil
	case "token", "no token", "two tokens":
		at.TokenFile = filepath.Join(*data, "admin.token")
		lines := map[string]string{"token": "secret\n", "two tokens": "a\nb\n"}[mode]
		if err := os.WriteFile(at.TokenFile, []byte(lines), 0o600); err != nil {
			die(1, "%v", err)
		}
	}
	text, err := json.Marshal(at)
	if err != nil {
		die(1, "%v", err)
	}
	if err := os.WriteFile(*addressFile+".tmp", text, 0o600); err != nil {
		die(1, "%v", err)
	}
	if err := os.Rename(*addressFile+".tmp", *addressFile); err != nil {
		die(1, "%v", err)
	}
	for {
		<-term
		switch mode {
		case "stubborn", "stubborn " + member.node:
			fmt.Fprintln(os.Stderr, "ignoring SIGTERM")
		case "fails to close":
			die(4, "close the store: input/output error")
		default:
			fmt.Fprintln(os.Stderr, "closed")
			return
		}
	}
}

// openStore creates the store, or finds the one of an earlier start, and prints which.
func openStore(data string) {
	store := filepath.Join(data, "store")
	left, err := os.ReadDir(data)
	switch {
	case err != nil:
		die(1, "%v", err)
	case len(left) == 0:
		if err := os.WriteFile(store, []byte("records"), 0o600); err != nil {
			die(1, "%v", err)
		}
		return
	}
	records, err := os.ReadFile(store)
	left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return e.Name() == "admin.token" })
	if err != nil || len(left) != 1 || string(records) != "records" {
		die(1, "the data folder is neither empty nor unchanged: %v %v", left, err)
	}
	fmt.Fprintln(os.Stderr, "found", string(records))
}

// serveAdmin serves /readyz, which fails twice and then succeeds, and /end?status=N, which ends the
// process. It returns the address.
func serveAdmin(mode, address string) string {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		die(1, "%v", err)
	}
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		asked++ // callReady sends one request at a time
		if mode == "never ready" || asked <= 2 {
			http.Error(w, "recovering", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/end", func(_ http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.FormValue("status"))
		if err != nil {
			status = 1
		}
		die(status, "panic: out of order")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { die(1, "%v", server.Serve(listener)) }()
	return listener.Addr().String()
}
