package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// holdEnv makes the test binary create hosts, report them, and wait until it is killed.
const holdEnv = "PRONY_HOSTS_TEST_HOLD"

// outside is the reason why the tests are not in a separate network namespace; nil if they are.
var outside error

func TestMain(m *testing.M) {
	if IsChild(os.Args) {
		os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	outside = Enter() // executes the test binary again in the namespace
	if log := os.Getenv(holdEnv); log != "" {
		hold(log)
	}
	os.Exit(m.Run())
}

// hold creates hosts, writes the forwarder's process id and the namespaces, and waits.
func hold(log string) {
	n, err := Start(context.Background(), Config{Hosts: 3, Log: log})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Print(n.ForwarderPID())
	for i := range 3 {
		number, err := inode(fmt.Sprintf("/proc/self/fd/%d", n.Namespace(i).Fd()))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Print(" ", number)
	}
	fmt.Println()
	select {}
}

// able skips a test that this machine cannot run.
func able(t *testing.T, want scenario.Hosts) {
	t.Helper()
	if outside != nil {
		t.Skip("no network namespace can be created here: ", outside)
	}
	if missing := Probe().Missing(want); missing != "" {
		t.Skip("not possible on this machine: ", missing)
	}
}

func start(t *testing.T, hosts int, want scenario.Hosts) *Network {
	t.Helper()
	able(t, want)
	n, err := Start(t.Context(), Config{Hosts: hosts, Want: want, Log: filepath.Join(t.TempDir(), "forwarder.log")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, n.Close()) })
	return n
}

func (n *Network) listen(t *testing.T, host int) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	require.NoError(t, inside(n.Namespace(host), func() (err error) {
		c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(n.Address(host)), Port: 9000})
		return err
	}))
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, c.SetReadBuffer(8<<20))
	return c
}

// Each host reaches each other host at its address. A round trip takes at least the configured
// time, and the load generator reaches all hosts without the delay.
func TestRoundTrip(t *testing.T) {
	const trip = 50 * time.Millisecond
	n := start(t, 3, scenario.Hosts{RoundTrip: trip})
	trips := n.Trips()
	assert.Equal(t, 3*pingsAt(trip), trips.Pings+trips.Lost)
	assert.Positive(t, trips.Pings)
	assert.GreaterOrEqual(t, trips.P50, float64(2*n.delay)/1e6, "the delay is added in both directions")
	assert.GreaterOrEqual(t, trips.P99, trips.P50)
	assert.Positive(t, trips.FloorP50)
	assert.LessOrEqual(t, trips.FloorP50+float64(2*n.delay)/1e6, 50.001, "the floor is a part of the round trip")
	assert.Positive(t, n.delay)

	before, err := n.Count(true)
	require.NoError(t, err)
	var sockets []*net.UDPConn
	for host := range 3 {
		sockets = append(sockets, n.listen(t, host))
	}
	for from, socket := range sockets {
		for to := range 3 {
			if from != to {
				_, err := socket.WriteToUDP(make([]byte, 100), &net.UDPAddr{IP: net.ParseIP(n.Address(to)), Port: 9000})
				require.NoError(t, err)
			}
		}
	}
	for to, socket := range sockets {
		require.NoError(t, socket.SetReadDeadline(time.Now().Add(time.Minute)))
		var senders []string
		for range 2 {
			_, sender, err := socket.ReadFromUDP(make([]byte, 200))
			require.NoError(t, err)
			senders = append(senders, sender.IP.String())
		}
		assert.ElementsMatch(t, []string{n.Address((to + 1) % 3), n.Address((to + 2) % 3)}, senders, "each host has its own address")
	}
	require.Eventually(t, func() bool {
		after, err := n.Count(false)
		return err == nil && n.Measured(before, after).Packets >= 6
	}, time.Minute, time.Millisecond)
	after, err := n.Count(false)
	require.NoError(t, err)
	m := n.Measured(before, after)
	assert.Positive(t, m.SentMbitMax)
	assert.Positive(t, m.ForwarderCores)
	assert.Zero(t, m.Overflowed)

	p, err := newPinger(n.Address(0), 77) // from the load generator
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.close()) }()
	fastest := time.Hour
	for range 50 {
		took, answered, err := p.ping(time.Minute)
		require.NoError(t, err)
		require.True(t, answered)
		fastest = min(fastest, took)
	}
	assert.Less(t, fastest, trip/2, "no delay is added between the load generator and a host")
}

// Without a configured round trip, no delay is added.
func TestNoRoundTrip(t *testing.T) {
	n := start(t, 2, scenario.Hosts{})
	assert.Zero(t, n.delay)
	assert.Positive(t, n.Trips().P50)
}

// Packets are lost at random, at the configured rate, and counted.
func TestLoss(t *testing.T) {
	const sent, percent = 20000, 10.0
	n := start(t, 2, scenario.Hosts{LossPercent: percent})
	from, to := n.listen(t, 0), n.listen(t, 1)
	received, m := n.lossy(t, from, to, sent, 1)
	for try := byte(2); try < 10 && m.Overflowed > 0; try++ { // a busy machine did not forward packets in time
		received, m = n.lossy(t, from, to, sent, try)
	}
	require.Zero(t, m.Overflowed)
	assert.GreaterOrEqual(t, m.Received, uint64(sent))
	assert.InDelta(t, sent-received, m.Lost, 50, "all missing packets were counted")
	assert.InDelta(t, percent, m.LostPercent(), 1.5, "seven standard deviations")
	assert.Empty(t, m.Misses())
}

// lossy sends a number of packets from host 0 to host 1, with a last packet that contains the number
// of the try. It returns how many arrived, and the counts.
func (n *Network) lossy(t *testing.T, from, to *net.UDPConn, sent int, try byte) (received int, m *result.Hosts) {
	t.Helper()
	before, err := n.Count(true)
	require.NoError(t, err)
	arrived := make(chan int)
	go func() {
		count, packet := 0, make([]byte, 10)
		for {
			size, err := to.Read(packet)
			if err != nil || size == 1 && packet[0] == try {
				arrived <- count
				return
			}
			if size > 1 {
				count++
			}
		}
	}()
	target := &net.UDPAddr{IP: net.ParseIP(n.Address(1)), Port: 9000}
	for i := range sent {
		_, err := from.WriteToUDP([]byte{1, 2}, target)
		require.NoError(t, err)
		if i%64 == 0 {
			time.Sleep(time.Millisecond) // avoids full queues
		}
	}
	for ended := false; !ended; { // the end may be lost too
		_, err := from.WriteToUDP([]byte{try}, target)
		require.NoError(t, err)
		select {
		case received = <-arrived:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	after, err := n.Count(false)
	require.NoError(t, err)
	return received, n.Measured(before, after)
}

// A host sends at most its bandwidth.
func TestBandwidth(t *testing.T) {
	const mbit = 20
	n := start(t, 2, scenario.Hosts{Bandwidth: mbit * 1e6})
	from := n.listen(t, 0)
	require.NoError(t, from.SetWriteBuffer(8<<20)) // larger than the queue of the token bucket
	const sends = 300 * time.Millisecond
	for paused := true; paused; {
		before, err := n.Count(true)
		require.NoError(t, err)
		began := time.Now()
		for time.Since(began) < sends {
			_, err := from.WriteToUDP(make([]byte, 1200), &net.UDPAddr{IP: net.ParseIP(n.Address(1)), Port: 9000})
			if err != nil && !errors.Is(err, unix.ENOBUFS) {
				require.NoError(t, err)
			}
		}
		after, err := n.Count(false)
		require.NoError(t, err)
		m := n.Measured(before, after)
		took := after.at.Sub(before.at)
		burst := float64(burstLeast+mbit*1e6/8*burstFor.Seconds()) * 8 / 1e6 / took.Seconds()
		assert.LessOrEqual(t, m.SentMbitMax, mbit+burst)
		assert.Positive(t, m.Shaped, "excess packets were dropped and counted")
		// If this process paused for most of the time, it sent too little.
		if paused = took > 2*sends; !paused {
			assert.Greater(t, m.SentMbitMax, mbit/4.0)
		}
	}
}

// The network namespace of the machine contains no part of the hosts.
func TestMachineIsLeftAlone(t *testing.T) {
	start(t, 3, scenario.Hosts{})
	parents, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	require.NoError(t, err)
	defer func() { assert.NoError(t, parents.Close()) }()
	theirs, err := inode(parents.Name())
	require.NoError(t, err)
	ours, err := inode("/proc/self/ns/net")
	require.NoError(t, err)
	require.NotEqual(t, theirs, ours)
	require.NoError(t, inside(parents, func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			assert.NotContains(t, []string{tunName, toLoad, vethName(0), vethName(1), vethName(2)}, l.Attrs().Name)
			addresses, addrErr := netlink.AddrList(l, netlink.FAMILY_V4)
			err = errors.Join(err, addrErr)
			for _, a := range addresses {
				assert.False(t, strings.HasPrefix(a.IP.String(), "198.18."), "%v", a)
			}
		}
		return err
	}))
}

// The forwarder, the namespaces and the links end with the process that created them, even if it is
// killed.
func TestKilled(t *testing.T) {
	able(t, scenario.Hosts{})
	cmd := exec.Command(os.Args[0])
	// The invalid number makes the child enter a new namespace.
	cmd.Env = append(os.Environ(), holdEnv+"="+filepath.Join(t.TempDir(), "forwarder.log"), namespaceEnv+"=0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	fields := strings.Fields(said)
	require.Len(t, fields, 4, said)
	own, err := inode(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_, _ = cmd.Process.Wait()
	namespaces := append(fields[1:], strconv.FormatUint(own, 10))
	require.Eventually(t, func() bool {
		if _, err := os.Stat("/proc/" + fields[0]); err == nil {
			return false
		}
		used, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
		if err != nil {
			return false
		}
		for _, path := range used {
			number, err := inode(path)
			for _, n := range namespaces {
				if err == nil && n == strconv.FormatUint(number, 10) {
					return false
				}
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond)
}

// A closed network can be created again at once, with the same addresses.
func TestAgain(t *testing.T) {
	able(t, scenario.Hosts{})
	for range 3 {
		n, err := Start(t.Context(), Config{Hosts: 2, Log: filepath.Join(t.TempDir(), "forwarder.log")})
		require.NoError(t, err)
		require.NoError(t, n.Close())
	}
}

// The error of a forwarder that ends contains the reason.
func TestForwarderThatEnds(t *testing.T) {
	able(t, scenario.Hosts{})
	_, err := Start(t.Context(), Config{Hosts: 2, Forwarder: "/bin/false", Log: filepath.Join(t.TempDir(), "forwarder.log")})
	require.ErrorContains(t, err, "the forwarder does not answer")
}

func TestMissing(t *testing.T) {
	broken := errors.New("broken")
	all := scenario.Hosts{RoundTrip: time.Millisecond, LossPercent: 1, Bandwidth: 1e6}
	assert.Empty(t, Able{}.Missing(all))
	assert.Equal(t, "hosts, and delay between them: broken", Able{Hosts: broken}.Missing(scenario.Hosts{}))
	assert.Equal(t, "loss: broken", Able{Loss: broken}.Missing(all))
	assert.Empty(t, Able{Loss: broken, Bandwidth: broken}.Missing(scenario.Hosts{RoundTrip: time.Millisecond}))
	assert.Equal(t, "bandwidth: broken", Able{Bandwidth: broken}.Missing(all))
	assert.ErrorContains(t, forRoot(fmt.Errorf("make it: %w", unix.EPERM)), "make it: operation not permitted: run it as root")
}

// A process in the machine's namespace cannot create hosts.
func TestOutside(t *testing.T) {
	t.Setenv(namespaceEnv, "0")
	_, err := Start(t.Context(), Config{Hosts: 2})
	require.ErrorIs(t, err, ErrOutside)
}
